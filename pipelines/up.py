"""`headway up`: what a site runs, as children of one process that live and end together.

The services stand in a table. Where one ends by itself the others are ended too, so whoever starts
`headway up` (an init system, a person) sees one process that is either whole or gone.
"""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from answers.home import Home
from metrics.errors import AlreadyRunning, ServiceEnded
from pipelines import dagster_home
from pipelines.faults import storage_faults
from pipelines.listening import Listening, check_addresses
from pipelines.served import environment, gate_command, pages_command

GRACE_S = 20.0
"""How long a service may take to end before it is killed."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_POLL_S = 0.2
_DEFINITIONS = "pipelines.definitions"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Service:
    """A child process: its name, what it does, its command, and its address if it has one."""

    name: str
    what: str
    command: tuple[str, ...]
    address: str = ""
    ready_path: str = ""
    welcomes: bool = False
    """It prints nothing but a welcome, which would hide what the others say."""


def services(at: Listening) -> tuple[Service, ...]:
    """What a site runs."""
    return (
        Service(
            "pages",
            "budgets and freeze, jobs, restarts, waits, the weekly review",
            pages_command(at.host, at.pages),
            address=at.address(at.pages),
            ready_path="/_stcore/health",
            welcomes=True,
        ),
        Service(
            "gate",
            "may a change start? for rollouts and Prometheus; /docs tells how to ask",
            gate_command(at.host, at.gate),
            address=at.address(at.gate),
            ready_path="/healthz",
        ),
        Service(
            "webserver",
            "Dagster's page: runs, assets, checks, backfills",
            (
                *("-m", "dagster_webserver", "-m", _DEFINITIONS),
                *("-h", at.host, "-p", str(at.dagster)),
                *("--dagster-log-level", "warning", "--code-server-log-level", "warning"),
                "--suppress-warnings",
            ),
            address=at.address(at.dagster),
            ready_path="/server_info",
        ),
        Service(
            "daemon",
            "refreshes each hour and when files arrive, prunes each night",
            ("-m", "dagster._daemon", "run", "-m", _DEFINITIONS, "--log-level", "warning"),
        ),
    )


@dataclass
class Children:
    """The services that run, by name."""

    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, service: Service, environment: dict[str, str]) -> None:
        """Start a service in a process group of its own, which ends with this process."""
        self.running[service.name] = subprocess.Popen(
            [sys.executable, *service.command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if service.welcomes else None,
            start_new_session=True,
            preexec_fn=_end_with_parent(),
        )

    def ended(self) -> tuple[str, int] | None:
        """The name and exit code of a service that ended, if one did."""
        for name, process in self.running.items():
            if (code := process.poll()) is not None:
                return name, code
        return None

    def end(self) -> None:
        """Ask all to end, and after GRACE_S kill what is left of their process groups."""
        for process in self.running.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_S
        for process in self.running.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                continue
        for process in self.running.values():
            _kill_group(process.pid)
            process.wait()


def _kill_group(leader: int) -> None:
    """Also what a service started and left behind, as a run of a daemon that was killed."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux: have the kernel end a child when this process is killed and cannot do so itself."""
    if sys.platform != "linux":
        return None
    set_death_signal, request = ctypes.CDLL(None).prctl, 1
    return lambda: set_death_signal(request, signal.SIGTERM)


def up(home: Home, at: Listening, say: Callable[[str], None]) -> None:
    """Run the services until a signal asks to end.

    Raises UsageError where the address cannot be used, AlreadyRunning, PolicyError, StorageFault,
    and ServiceEnded where one ends by itself.
    """
    place = dagster_home.prepare(home)
    with storage_faults(home.root):
        (home.root / "inbox").mkdir(exist_ok=True)
    with _only_one(home, place):
        check_addresses(at)
        os.environ["HEADWAY_HOME"] = str(home.root)
        with dagster_home.opened(home) as instance:
            left = dagster_home.end_leftovers(instance)
        if left:
            say(f"{left} runs were under way when `headway up` ended; they are started again")
        _serve(services(at), home, at.host, say)


def _serve(table: tuple[Service, ...], home: Home, host: str, say: Callable[[str], None]) -> None:
    children = Children()
    with _signals() as asked:
        try:
            for service in table:
                children.start(service, environment(home))
            _say_what_runs(table, home, host, say)
            waiting = {service for service in table if service.ready_path}
            while not asked:
                if ended := children.ended():
                    raise _ended(*ended)
                for service in [service for service in waiting if _answers(service)]:
                    waiting.remove(service)
                    say(f"ready: {service.address}")
                time.sleep(_POLL_S)
            say("ending; a run that is under way is ended too, and taken up at the next start")
        finally:
            children.end()
    say("ended")


def _say_what_runs(
    table: tuple[Service, ...], home: Home, host: str, say: Callable[[str], None]
) -> None:
    say(f"Headway starts for {home.root} (Ctrl-C ends it)")
    for service in table:
        where = f"{service.address}  " if service.address else ""
        say(f"  {service.name:<10} {where}{service.what}")
    say(f"  {'inbox':<10} {home.root / 'inbox'}  files put here are ingested within a minute")
    if host not in LOOPBACK:
        say(f"careful: whoever reaches {host} can start and stop runs; the page asks no password")


def _ended(name: str, code: int) -> ServiceEnded:
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return ServiceEnded(
        f"the {name} {how}, so the other services were ended too. What it said stands above; "
        "nothing is lost: start `headway up` again"
    )


def _answers(service: Service) -> bool:
    try:
        with urllib.request.urlopen(service.address + service.ready_path, timeout=1.0) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def _only_one(home: Home, place: Path) -> Iterator[None]:
    with storage_faults(home.root):
        lock = (place / "up.lock").open("a+", encoding="utf-8")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise AlreadyRunning(
                f"{home.root}: `headway up` runs here already (process {holder}); end it first, or "
                "say another --home"
            ) from e
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Gather the signals that ask to end, instead of being ended by them.

    What is ignored stays ignored: `nohup headway up` outlives the terminal.
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heeded}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
