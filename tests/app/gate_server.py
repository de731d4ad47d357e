"""`headway serve` as a process of its own, and the questions that the tests ask it."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import services

from answers.home import Home

ROOT = Path(__file__).parents[2]


def ask(
    port: int, method: str, path: str, body: Any = None, token: str | None = None
) -> tuple[int, Any]:
    """A request's status and answer, of a server on the loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, sent, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    is_json = "json" in (response.getheader("content-type") or "")
    return response.status, json.loads(text) if is_json else text


@dataclass(frozen=True)
class Server:
    """A running `headway serve`."""

    home: Home
    port: int
    log: Path

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None
    ) -> tuple[int, Any]:
        """A request's status and answer."""
        return ask(self.port, method, path, body, token)


def headway(home: Home, *args: str) -> str:
    """What a command prints."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *args],
        cwd=ROOT,
        env=os.environ | {"HEADWAY_HOME": str(home.root)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@contextmanager
def serving(home: Home, log: Path) -> Iterator[Server]:
    """Serve a home until the end of the block."""
    found = Server(home, services.free_port(), log)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "serve", "--port", str(found.port)],
            cwd=ROOT,
            env=os.environ | {"HEADWAY_HOME": str(home.root)},
            stdout=out,
            stderr=out,
        )
    try:
        wait_for(found.port, "/healthz", process, log)
        yield found
    finally:
        process.terminate()
        process.wait(30)


def wait_for(port: int, path: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until a server that was started answers 200 there."""
    for _ in range(300):
        assert process.poll() is None, log.read_text()
        try:
            if ask(port, "GET", path)[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")
