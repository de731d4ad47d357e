"""How long the gate takes to answer over HTTP: a real server, asked while refreshes publish."""

import http.client
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

PACE_S = 0.1
"""A request begins every so often, so that the requests meet publications at every stage."""


@dataclass(frozen=True)
class Latency:
    """What requests took, in seconds, each over a connection of its own."""

    times_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The middle of them."""
        return statistics.median(self.times_s)

    @property
    def p90_s(self) -> float:
        """What nine of ten took at most."""
        return statistics.quantiles(self.times_s, n=10)[-1]

    def __str__(self) -> str:
        return (
            f"median {self.median_s * 1e3:.1f} ms, p90 {self.p90_s * 1e3:.1f} ms,"
            f" longest {max(self.times_s) * 1e3:.0f} ms of {len(self.times_s)} requests"
        )


def answer(port: int, path: str) -> bytes:
    """The body of an answer. Raises RuntimeError where it is not 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status} {text.decode()}")
    return text


def ask(port: int, path: str, count: int) -> Latency:
    """Ask so often, at PACE_S."""
    times_s = []
    for _ in range(count):
        began_s = time.perf_counter()
        answer(port, path)
        times_s.append(time.perf_counter() - began_s)
        time.sleep(max(0.0, PACE_S - times_s[-1]))
    return Latency(tuple(times_s))


@contextmanager
def serving(root: Path) -> Iterator[int]:
    """`headway serve` over a home until the end of the block; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "serve", "--port", str(port)],
        env=os.environ | {"HEADWAY_HOME": str(root)},
    )
    try:
        _await(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            answer(port, "/readyz")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not start")


@contextmanager
def repeating(act: Callable[[Path], None], root: Path) -> Iterator["Synchronized[int]"]:
    """Do it to a home again and again, in a process of its own, until the end of the block.

    Yields how often it was done. The block begins when it was done once.
    """
    spawn = multiprocessing.get_context("spawn")
    stop, done = spawn.Event(), spawn.Value("i", 0)
    process = spawn.Process(target=_repeat, args=(act, root, stop, done))
    process.start()
    try:
        while done.value == 0 and process.is_alive():
            time.sleep(0.05)
        yield done
    finally:
        stop.set()
        process.join()
    if process.exitcode:
        raise RuntimeError("what was to be repeated failed")


def _repeat(
    act: Callable[[Path], None], root: Path, stop: Event, done: "Synchronized[int]"
) -> None:
    while not stop.is_set():
        act(root)
        done.value += 1
