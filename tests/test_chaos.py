"""Runs that are killed, starved of disk, locked out or lied to about the time, many times over.

Readers in processes of their own query the mart all the while and must meet no error. In the end
the home answers what a fresh one answers that was fed the same files in peace.

The short form disturbs each way once; HEADWAY_CHAOS=200 (`make chaos`) gives a number of rounds.
HEADWAY_SEED repeats the choices of a form (not its timing).
"""

import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import services
from services import Up

from answers import questions
from answers.home import Home
from answers.mart import open_mart
from pipelines.derive import refresh
from pipelines.ingest import ingest
from pipelines.publish import publish
from pipelines.sources import Settings
from pipelines.warehouse import open_warehouse

ROUNDS = int(os.environ.get("HEADWAY_CHAOS", "0"))
SEED = int(os.environ.get("HEADWAY_SEED", "0")) or random.randrange(10**6)
SAMPLE = services.ROOT / "pipelines" / "demo" / "slurm-training"
PARTS = 4
"""Into how many deliveries each stream of the sample is cut."""

DISK_BYTES = 256 * 2**20
READERS = 2

READER = """
import sys, time
from pathlib import Path
from pipelines.derive import refresh
from answers.home import Home
from pipelines.ingest import ingest
from answers.mart import open_mart
from pipelines.publish import publish
from pipelines.sources import Settings
from pipelines.warehouse import open_warehouse

home, stop, questions, known = Home(Path(sys.argv[1])), Path(sys.argv[2]), 0, set()
print("ready", flush=True)
while not stop.exists():
    with open_mart(home) as mart:
        jobs = {row["job"] for row in mart.rows("select job from jobs")}
        (found,) = mart.rows(
            "select (select coalesce(sum(wall_us), 0) from jobs) as wall_us,"
            " (select coalesce(sum(us), 0) from ledger) as us"
        )
    assert found["us"] == found["wall_us"], found
    assert known <= jobs, known - jobs
    known, questions = jobs, questions + 1
    time.sleep(0.2)
print(questions)
"""

STEPPING_CLOCK = """
import random, sys, time
chance, real = random.Random(int(sys.argv.pop(1))), time.time_ns
def stepping():
    return real() + chance.choice((-1, 1)) * chance.randrange(10 * 86_400 * 10**9)
time.time_ns = stepping
time.time = lambda: stepping() / 1e9
from pipelines.cli import main
main()
"""
"""The command line under a clock that steps up to ten days back or forth at every look."""


class Site:
    """A home on a small disk of its own where the machine allows one, and what was delivered to it.

    The home is a link, so that a power loss can replace all of it at once.
    """

    def __init__(self, disk: Path, parts: list[Path], chance: random.Random) -> None:
        self.disk = disk
        self.home = disk / "site"
        self.inbox = disk / "inbox"
        self.parts = parts
        self.chance = chance
        self.lasts_s = 0.0
        self.generation = 0
        self.inbox.mkdir()
        self.place().mkdir()
        self.home.symlink_to(self.place().name)

    def place(self) -> Path:
        return self.disk / f"site-{self.generation}"

    def deliver(self) -> None:
        """Put the next part into the inbox, while there is one."""
        if self.parts:
            shutil.copy(self.parts.pop(0), self.inbox)

    def begin(
        self, *python: str, limit_bytes: int | None = None, by: tuple[str, ...] = ()
    ) -> "subprocess.Popen[str]":
        """Begin to ingest the inbox, as a user does."""

        def limit() -> None:
            if limit_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        return subprocess.Popen(
            [*by, sys.executable, *(python or ("-m", "pipelines.cli")), "ingest", str(self.inbox)],
            env=services.ENVIRONMENT | {"HEADWAY_HOME": str(self.home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
        )

    def somewhere(self) -> None:
        """Wait until a random moment of a run; most of its first part is starting up."""
        time.sleep(self.chance.uniform(0.3, 1.05) * self.lasts_s)


def finish(run: "subprocess.Popen[str]") -> tuple[int, str]:
    _, told = run.communicate(timeout=180)
    assert "Traceback" not in told, told
    return run.returncode, told


def in_peace(site: Site) -> str:
    begun = time.monotonic()
    code, told = finish(site.begin())
    assert code == 0, told
    site.lasts_s = time.monotonic() - begun
    return "undisturbed"


def killed(site: Site) -> str:
    run = site.begin()
    site.somewhere()
    run.kill()
    return "killed" if finish(run)[0] == -signal.SIGKILL else "undisturbed"


WRITES = {"write": 60, "pwrite64": 45, "fdatasync": 30, "fsync": 7, "rename": 3, "unlink": 6}
"""System calls that change files, and how many of each a run makes, about."""


def killed_at_a_write(site: Site) -> str:
    """The run is killed as it enters one certain system call that changes a file."""
    call, calls = site.chance.choice(list(WRITES.items()))
    at = f"inject={call}:signal=KILL:when={site.chance.randint(1, calls)}"
    tracer = ["strace", "-f", "-qq", "-o", "/dev/null"]
    run = site.begin(by=(*tracer, "-e", f"trace={call}", "-e", at))
    return f"killed at a {call}" if finish(run)[0] else "undisturbed"


def can_trace() -> bool:
    """Whether this machine has a tracer of system calls, and its kills work."""
    kill = ["-e", "trace=exit_group", "-e", "inject=exit_group:signal=KILL"]
    command = ["strace", "-f", "-qq", "-o", "/dev/null", *kill, "true"]
    return bool(shutil.which("strace")) and subprocess.run(command, check=False).returncode != 0


def power_lost(site: Site) -> str:
    """The run stands still between two writes, and what lies on the disk then is all that is left.

    It stands for a machine that loses power: everything written is there, or of the log's last
    stretch, which nobody had asked the disk for yet, only a part. The stretch is what was appended
    since a moment before, and it is cut only where nothing but the log was written meanwhile.
    """
    run = site.begin()
    site.somewhere()
    run.send_signal(signal.SIGSTOP)
    before = sizes(site.place())
    run.send_signal(signal.SIGCONT)
    time.sleep(site.chance.uniform(0, 0.05))
    run.send_signal(signal.SIGSTOP)
    after = sizes(site.place())
    old, site.generation = site.place(), site.generation + 1
    shutil.copytree(old, site.place())
    torn = tear(site, before, after)
    run.kill()
    run.send_signal(signal.SIGCONT)
    finish(run)
    link = site.disk / "next"
    link.symlink_to(site.place().name)
    link.replace(site.home)
    shutil.rmtree(old)
    return "power lost, log torn" if torn else "power lost"


def sizes(place: Path) -> dict[str, tuple[int, int]]:
    found = {path.name: path.stat() for path in place.glob("warehouse.duckdb*") if path.is_file()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}


def tear(site: Site, before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> bool:
    log, store = "warehouse.duckdb.wal", "warehouse.duckdb"
    if before.get(store) != after.get(store) or log not in after:
        return False
    shortest, longest = before.get(log, (0, 0))[0], after[log][0]
    if shortest >= longest:
        return False
    os.truncate(site.place() / log, site.chance.randrange(shortest, longest))
    return True


def limited(site: Site) -> str:
    """No file may grow beyond a size that the run is likely to want."""
    code, told = finish(site.begin(limit_bytes=site.chance.randrange(2**12, 2**21)))
    if code == 0:
        return "undisturbed"
    assert code == 1, told
    assert "a file may not grow further" in told
    assert str(site.place()) in told
    return "limited"


def full(site: Site) -> str:
    """The home's disk is full but for a little."""
    free = os.statvfs(site.disk).f_bavail * os.statvfs(site.disk).f_frsize
    ballast = site.disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - site.chance.randrange(2**12, 2**19))
    code, told = finish(site.begin())
    ballast.unlink()
    if code == 0:
        return "undisturbed"
    assert code == 1, told
    assert "the disk is full; free some space" in told
    assert str(site.place()) in told
    return "full"


def locked_out(site: Site) -> str:
    """The folder of marts cannot be written."""
    with read_only(site.place() / "mart"):
        code, told = finish(site.begin())
    assert code == 1, told
    assert "read-only" in told or "may not write" in told
    assert str(site.place()) in told
    return "locked out"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    if os.getuid():
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def lied_to(site: Site) -> str:
    """The clock steps back and forth."""
    seed = str(site.chance.randrange(10**6))
    code, told = finish(site.begin("-c", STEPPING_CLOCK, seed))
    assert code == 0, told
    return "lied to"


def daemon_killed(site: Site) -> str:
    """`headway up` is at work on the inbox, and its daemon is killed, or the run, or both."""
    place = site.place() / "inbox"
    shutil.copytree(site.inbox, place, dirs_exist_ok=True)
    up = Up(site.place())
    up.ready()
    time.sleep(site.chance.uniform(5.0, 20.0))
    below = up.descendants()
    victims = [pid for pid, told in below.items() if "dagster._daemon" in told or "spawn" in told]
    for victim in site.chance.sample(victims, site.chance.randint(1, len(victims))):
        with suppress_gone():
            os.kill(victim, signal.SIGKILL)
    time.sleep(site.chance.uniform(0.0, 3.0))
    up.end()
    assert not below.keys() & services.processes().keys()
    return "services killed"


@contextmanager
def suppress_gone() -> Iterator[None]:
    try:
        yield
    except ProcessLookupError:
        return


SHORT: tuple[Callable[[Site], str], ...] = (killed, power_lost, limited, full, locked_out, lied_to)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own as root; else a folder."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid():
        yield place
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def parts_of_the_sample(folder: Path) -> list[Path]:
    """The shipped sample as many deliveries; a scheduler's export comes with the first."""
    folder.mkdir()
    made = [Path(shutil.copy(SAMPLE / "sacct_dup.psv", folder))]
    texts = {
        "lifecycle": (SAMPLE / "trainers.lifecycle.jsonl").read_bytes(),
        "steps": gzip.decompress((SAMPLE / "trainers.steps.jsonl.gz").read_bytes()),
    }
    for number in range(PARTS):
        for stream, text in texts.items():
            lines = text.splitlines(keepends=True)
            part = folder / f"{number}.{stream}.jsonl"
            part.write_bytes(b"".join(lines[number::PARTS]))
            made.append(part)
    return made


@contextmanager
def reading(site: Site) -> Iterator[None]:
    """Readers ask all the while; none may meet an error, and each must have asked often."""
    stop = site.disk.parent / "stop"
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(site.home), str(stop)],
            env=services.ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(READERS)
    ]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    yield
    stop.touch()
    for reader in readers:
        asked, told = reader.communicate(timeout=60)
        assert reader.returncode == 0, told
        assert int(asked) > 20


def numbers(home: Path) -> tuple[Any, ...]:
    """All that the mart answers."""
    with open_mart(Home(home)) as mart:
        return (
            questions.ledger(mart, None),
            questions.restarts(mart, None),
            mart.rows("select * from queue_waits order by all"),
            mart.rows("select parse_filename(path) as file, new_records from files order by all"),
        )


def quiet(folder: Path) -> Path:
    """A home that was fed the same parts without any disturbance."""
    home = Home.open(folder / "quiet")
    policy = home.policy()
    with open_warehouse(home.warehouse) as con:
        ingest(con, [folder / "parts"], "auto", Settings(policy))
        refresh(con, policy)
        publish(con, home, policy, as_of_given=False)
    return home.root


def test_whatever_disturbs_runs_readers_read_on_and_the_numbers_come_out_the_same(
    tmp_path: Path, disk: Path
) -> None:
    chance = random.Random(SEED)
    parts = parts_of_the_sample(tmp_path / "parts")
    site = Site(disk, list(parts), chance)
    met: Counter[str] = Counter()
    site.deliver()
    met[in_peace(site)] += 1
    with reading(site):
        for disturb in rounds(chance):
            site.deliver()
            met[disturb(site)] += 1
        while site.parts:
            site.deliver()
        in_peace(site)
    print(f"HEADWAY_SEED={SEED}", dict(met))
    assert numbers(site.home) == numbers(quiet(tmp_path)), f"HEADWAY_SEED={SEED}"
    assert not list((site.home / "mart").glob("*.tmp*"))
    assert met["locked out"] and met["lied to"], met


def rounds(chance: random.Random) -> list[Callable[[Site], str]]:
    """Each way once in any order; in the long form as many at random, and with services."""
    possible = [way for way in SHORT if way is not full or not os.getuid()]
    if can_trace():
        possible.append(killed_at_a_write)
    if not ROUNDS:
        return chance.sample(possible, len(possible))
    more = [*possible, *possible, daemon_killed]
    return possible + [chance.choice(more) for _ in range(ROUNDS - len(possible))]
