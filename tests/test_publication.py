"""Publication: readers see whole marts while others are published, and a kill loses nothing."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import harness
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answers import questions
from answers.home import Home
from answers.mart import CURRENT, Mart, open_mart
from metrics.errors import HeadwayError, NothingPublished, UnreadableInput, WarehouseBusy
from pipelines.derive import refresh
from pipelines.ingest import ingest
from pipelines.publish import KEPT, publish
from pipelines.show import Format, print_json, print_rows
from pipelines.sources import Settings
from pipelines.warehouse import open_warehouse

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "pipelines" / "demo" / "slurm-training"
KILLS = int(os.environ.get("HEADWAY_KILLS", "3"))
"""How often the killing test kills; more for a long run."""

PUBLICATIONS = 6
"""How many are published under the eyes of readers."""

S = 1_000_000
START_US = 1_790_856_000 * S  # 2026-10-01T12:00:00Z


def records(jobs: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Jobs 0, 1, …, each of a wall of 100 s: a first step of 10 s, and nine more of 10 s."""
    lifecycle, steps = [], []
    for number in range(jobs):
        job = {"job": str(number), "attempt": 0}
        lifecycle.append({"event": "resources_allocated", "ts_us": START_US, **job})
        steps += [
            job | {"step": n, "ts_us": START_US + 10 * n * S, "duration_us": 10 * S}
            for n in range(1, 11)
        ]
    return lifecycle, steps


@contextmanager
def publishing(home: Home) -> Iterator[Callable[[], Path]]:
    """Ingest another job's records, derive and publish, each time it is called; its file."""
    folder = home.root / "delivered"
    folder.mkdir()
    with open_warehouse(home.warehouse) as con:
        jobs = 0

        def once() -> Path:
            nonlocal jobs
            jobs += 1
            lifecycle, steps = records(jobs)
            harness.deliver(con, folder, lifecycle[-1:], steps[-10:])
            refresh(con, harness.POLICY)
            return publish(con, home, harness.POLICY, as_of_given=False)

        yield once


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with nothing in it."""
    return Home.open(tmp_path / "home")


def look(mart: Mart) -> tuple[int, int]:
    """(jobs, the ledger's sum in µs) of a mart."""
    (found,) = mart.rows(
        "select (select count(*) from jobs) as jobs,"
        " (select coalesce(sum(us), 0)::hugeint from ledger) as us"
    )
    return found["jobs"], found["us"]


# One publication after another --------------------------------------------------------------------


def test_a_home_without_a_mart_says_that_nothing_was_published(home: Home) -> None:
    with pytest.raises(NothingPublished, match="headway ingest"), open_mart(home):
        pass


def test_current_names_the_file_published_last(home: Home) -> None:
    with publishing(home) as once:
        for jobs in (1, 2):
            file = once()
            assert (home.mart / CURRENT).read_text(encoding="utf-8") == file.name + "\n"
            with open_mart(home) as mart:
                assert look(mart) == (jobs, jobs * 100 * S)


def test_the_newest_five_are_kept_and_no_name_is_used_again(home: Home) -> None:
    with publishing(home) as once:
        files = [once() for _ in range(KEPT + 4)]
    assert len(set(files)) == len(files)
    left = sorted(home.mart.glob("mart-*"))
    assert left == files[-5:]
    assert len({file.stat().st_ino for file in left}) == 5


def test_a_reader_keeps_its_mart_when_it_was_pruned(home: Home) -> None:
    with publishing(home) as once:
        once()
        with open_mart(home) as mart:
            for _ in range(KEPT + 1):
                once()
            assert look(mart) == (1, 100 * S)


def test_leftovers_of_a_killed_publication_are_cleared_away(home: Home) -> None:
    home.mart.mkdir()
    for name in ("mart-1-abc.tmp", "mart-1-abc.tmp.wal", "CURRENT.abc.tmp"):
        (home.mart / name).write_bytes(b"half")
    with publishing(home) as once:
        file = once()
    assert {path.name for path in home.mart.iterdir()} == {CURRENT, file.name}


def test_a_mart_is_opened_for_reading_only(home: Home) -> None:
    with publishing(home) as once:
        once()
    with open_mart(home) as mart, pytest.raises(duckdb.InvalidInputException, match="read-only"):
        mart.rows("delete from ledger")


def test_a_publication_that_fails_leaves_the_last_one(home: Home) -> None:
    with publishing(home) as once:
        file = once()
    with open_warehouse(home.warehouse) as con:
        con.execute("drop table wait_parts")
        with pytest.raises(duckdb.CatalogException):
            publish(con, home, harness.POLICY, as_of_given=False)
    assert {path.name for path in home.mart.iterdir()} == {CURRENT, file.name}
    with open_mart(home) as mart:
        assert look(mart) == (1, 100 * S)


@pytest.mark.parametrize(
    "damage",
    [
        lambda mart: (mart / CURRENT).write_text("absent.duckdb\n", encoding="utf-8"),
        lambda mart: (mart / CURRENT).write_bytes(b"\xff\xfe"),
        lambda mart: (mart / CURRENT).write_bytes(b""),
        lambda mart: next(mart.glob("mart-*")).write_bytes(b"no database"),
        lambda mart: next(mart.glob("mart-*")).write_bytes(b""),
    ],
    ids=["names no file", "is no text", "is empty", "names no database", "names an empty file"],
)
def test_a_damaged_publication_is_told_as_damaged(
    home: Home, damage: Callable[[Path], object]
) -> None:
    with publishing(home) as once:
        once()
    damage(home.mart)
    with pytest.raises(HeadwayError, match="refresh") as told, open_mart(home) as mart:
        look(mart)
    assert not isinstance(told.value, NothingPublished)


@pytest.mark.parametrize("content", [b"garbage", bytes(4096)], ids=["text", "zeros"])
def test_a_damaged_warehouse_is_told_with_its_path(home: Home, content: bytes) -> None:
    home.warehouse.write_bytes(content)
    told = pytest.raises(UnreadableInput, match=re.escape(str(home.warehouse)))
    with told, open_warehouse(home.warehouse):
        pass


def test_a_database_of_somebody_else_is_no_warehouse(home: Home) -> None:
    with duckdb.connect(home.warehouse) as con:
        con.execute("create table events (what varchar)")
    told = pytest.raises(HeadwayError, match=re.escape(str(home.warehouse)))
    with told, open_warehouse(home.warehouse) as con:
        refresh(con, harness.POLICY)


# Many at once -------------------------------------------------------------------------------------


def test_readers_in_threads_see_only_whole_marts(home: Home) -> None:
    faults: list[object] = []
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        last = 0
        while not done.is_set():
            try:
                with open_mart(home) as mart:
                    jobs, us = look(mart)
            except Exception as e:
                faults.append(e)
                return
            if us != jobs * 100 * S or jobs < last:
                faults.append((jobs, us, last))
            last = jobs
            seen.add(jobs)
            time.sleep(0.005)

    with publishing(home) as once:
        once()
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(PUBLICATIONS):
            once()
        done.set()
        for reader in readers:
            reader.join()
    assert faults == []
    assert len(seen) > 1


READER = """
import sys
import time
from pathlib import Path
from answers.home import Home
from answers.mart import open_mart

home, seen = Home(Path(sys.argv[1])), set()
print("ready", flush=True)
while not (home.root / "stop").exists():
    with open_mart(home) as mart:
        (found,) = mart.rows(
            "select (select count(*) from jobs) as jobs,"
            " (select coalesce(sum(us), 0)::hugeint from ledger) as us"
        )
    assert found["us"] == found["jobs"] * 100_000_000, found
    seen.add(found["jobs"])
    time.sleep(0.005)
print(len(seen))
"""


def test_readers_in_processes_see_only_whole_marts(home: Home) -> None:
    with publishing(home) as once:
        once()
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", READER, str(home.root)],
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        for _ in range(PUBLICATIONS):
            once()
        (home.root / "stop").touch()
        for reader in readers:
            said, told = reader.communicate(timeout=60)
            assert reader.returncode == 0, told
            assert int(said) > 1


def headway(home: Path, *args: str) -> subprocess.Popen[str]:
    """Begin a command as a user does."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *args],
        env=os.environ | {"HEADWAY_HOME": str(home), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ledger(home: Path) -> list[dict[str, Any]]:
    with open_mart(Home(home)) as mart:
        return questions.ledger(mart, None)


def sample_in_parts(folder: Path) -> list[Path]:
    """The shipped sample, each of its files in a folder of its own."""
    files = sorted(path for path in SAMPLE.iterdir() if path.suffix != ".md")
    parts = []
    for number, file in enumerate(files):
        part = folder / str(number)
        part.mkdir()
        parts.append(Path(shutil.copy(file, part)))
    return parts


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The ledger of the shipped sample, ingested without any disturbance."""
    home = Home.open(tmp_path_factory.mktemp("quiet"))
    with open_warehouse(home.warehouse) as con:
        ingest(con, [SAMPLE], "auto", Settings(harness.POLICY))
        refresh(con, harness.POLICY)
        publish(con, home, harness.POLICY, as_of_given=False)
    return ledger(home.root)


def test_two_runs_at_once_wait_for_each_other_and_nothing_is_lost(
    tmp_path: Path, quiet: list[dict[str, Any]]
) -> None:
    home = tmp_path / "home"
    first, *rest = map(str, sample_in_parts(tmp_path))
    runs = [headway(home, "ingest", first), headway(home, "ingest", *rest)]
    for run in runs:
        _, told = run.communicate(timeout=120)
        assert run.returncode == 0, told
    assert ledger(home) == quiet


def test_a_warehouse_that_is_held_too_long_is_told_as_busy(home: Home) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print(flush=True); input()",
            str(home.warehouse),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    begun = time.monotonic()
    with pytest.raises(WarehouseBusy, match="another run"), open_warehouse(home.warehouse, 0.5):
        pass
    assert time.monotonic() - begun >= 0.5
    holder.communicate(b"\n")
    with open_warehouse(home.warehouse, 0.5):
        pass


# Kills --------------------------------------------------------------------------------------------


def test_a_kill_at_any_moment_leaves_the_last_mart_and_loses_nothing(
    tmp_path: Path, quiet: list[dict[str, Any]]
) -> None:
    seed = int(os.environ.get("HEADWAY_SEED", "0")) or random.randrange(10**6)
    chance = random.Random(seed)
    parts = sample_in_parts(tmp_path)
    home = tmp_path / "home"
    begun = time.monotonic()
    first = headway(home, "ingest", str(parts[0]))
    first.communicate(timeout=120)
    lasts = time.monotonic() - begun
    before = ledger(home)
    assert before
    for _ in range(KILLS):
        run = headway(home, "ingest", *map(str, parts))
        # Most of a run is starting up: the second half is where it reads, derives and publishes.
        time.sleep(chance.uniform(0.4, 1.1) * lasts)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        assert ledger(home) in (before, quiet), f"HEADWAY_SEED={seed}"
    last = headway(home, "ingest", *map(str, parts))
    _, told = last.communicate(timeout=120)
    assert last.returncode == 0, told
    assert ledger(home) == quiet, f"HEADWAY_SEED={seed}"
    assert not list((home / "mart").glob("*.tmp*"))


# Large numbers ------------------------------------------------------------------------------------

LARGE = 2**53 + 1
"""The first integer that a float64 cannot hold."""


def test_gpu_time_past_2_to_the_53_is_exact(home: Home) -> None:
    with open_warehouse(home.warehouse) as con:
        (home.root / "delivered").mkdir()
        lifecycle, steps = records(1)
        lifecycle[0]["gpus"] = 2**53 - 1  # the most that a record may say
        harness.deliver(con, home.root / "delivered", lifecycle, steps)
        refresh(con, harness.POLICY)
        publish(con, home, harness.POLICY, as_of_given=False)
    with open_mart(home) as mart:
        assert questions.quality(mart)["coverage"] == {
            "gpu_us": (2**53 - 1) * 100 * S,
            "instrumented_gpu_us": (2**53 - 1) * 100 * S,
            "share": 1.0,
        }


def test_a_sum_past_2_to_the_53_passes_through_a_mart_and_every_format(
    home: Home, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with publishing(home) as once:
        once()
    with open_mart(home) as mart:
        rows = mart.rows(
            "select 'a' as job, sum(us)::hugeint as us from"
            f" (select unnest([{LARGE - 2}::bigint, 2]) as us)"
            " union all select 'b', 170141183460469231731687303715884105727"
        )
    assert [row["us"] for row in rows] == [LARGE, 2**127 - 1]
    print_json(rows)
    assert json.loads(capfdbinary.readouterr().out) == rows
    print_rows(rows, ("job", "us"), Format.CSV)
    assert capfdbinary.readouterr().out.splitlines()[1] == b"a,9007199254740993"
    print_rows(rows[:1], ("job", "us"), Format.PARQUET)
    table = pq.read_table(pa.BufferReader(capfdbinary.readouterr().out))
    assert table["us"].to_pylist() == [LARGE]


def test_names_stay_in_order_when_the_clock_was_ahead(home: Home) -> None:
    with publishing(home) as once:
        ahead = once()
        future = ahead.with_name("mart-9000000000000000-abcdef.duckdb")
        ahead.rename(future)
        (home.mart / CURRENT).write_text(future.name + "\n", encoding="utf-8")
        files = [once() for _ in range(KEPT + 1)]
        assert files == sorted(files)
        assert min(files) > future
        assert sorted(home.mart.glob("mart-*")) == files[-KEPT:]
