"""Headway's benchmarks: ratios from one run, each beside the times that it was made from.

`make bench` runs all of it; `--quick` a tenth of the size in under a minute; `--only NAME` one
measurement. Nothing here is asserted. How to read the output stands in the README beside this file.
"""

import argparse
import datetime
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
from asking import answer, ask, repeating, serving
from timing import Row, Spent, alternating, in_child, machine, say, show, spent
from workload import Delivery, Shape, Workload

from answers.clock import now_us
from answers.home import Home
from answers.mart import open_mart
from answers.moments import rfc3339
from metrics.conventions import HOUR_US
from metrics.policy import load_policy
from pipelines.derive import refresh
from pipelines.ingest import ingest
from pipelines.publish import publish
from pipelines.sources import Settings
from pipelines.warehouse import one_row, open_warehouse

POLICY = load_policy(None)
MILLION = 1_000_000
SIZES = (1 * MILLION, 10 * MILLION, 30 * MILLION)
WORST_CASE = 10 * MILLION
"""At this size a store is measured as well in which a gap precedes every step."""
LINES = (1 * MILLION, 5 * MILLION)
ONE_JOB = 1 * MILLION
RESTARTS = 50

REBUILD_TARGET = 12
MEMORY_TARGET_BYTES = 4_000_000_000
HOUR_TARGET = 0.1
INGEST_TARGET = 3
LIBRARY_TARGET = 20
ASKED = 200
ASKED_JOBS = 5
ASKED_TARGET_S = 0.02
SHOWN_WANTED = 36
"""Training jobs at any time; with short ones some 2,200 in 35 days."""
SHOWN = (
    *("home", "job", "review", "restarts", "queue", "checkpoints"),
    *("capacity", "waiting", "health", "decisions"),
)

BARE_SUM = (
    "select {job}, ts_us // 3600000000 as hour, sum(data_wait_us), sum(straggler_us),"
    " sum(checkpoint_us), sum(overhead_us) from bare.{table} group by all"
)


@dataclass(frozen=True)
class Scale:
    """How large this run is: `divisor` divides every number of steps."""

    divisor: int
    folder: Path

    def sized(self, steps: int) -> int:
        """The number of steps that stands for so many."""
        return steps // self.divisor

    def repetitions(self, most: int) -> int:
        """How often each side of a measurement is run."""
        return most if self.divisor == 1 else 2

    def room(self, name: str) -> Path:
        """A folder that does not exist yet."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder)) / "made"


# 1 and 2: a store of many jobs --------------------------------------------------------------------


def stores(scale: Scale, name: str) -> None:
    """Measure a rebuild, and one more hour, over stores of growing size."""
    rebuilt: list[Row] = []
    hours: list[Row] = []
    for full in SIZES:
        steps = scale.sized(full)
        jobs = 50 if full == MILLION else 100
        repetitions = scale.repetitions(5 if full == MILLION else 3)
        following = 2 * repetitions if name in ("all", "hour") else 0
        with _store(scale, Shape(steps, jobs, hours=following)) as store:
            if name in ("all", "rebuild"):
                rebuilt += _rebuild_rows(store, repetitions)
            if name in ("all", "hour"):
                hours += _hour_rows(store, repetitions)
        if name in ("all", "rebuild") and full == WORST_CASE:
            with _store(scale, Shape(steps, jobs, gap_everywhere=True)) as store:
                rebuilt += _rebuild_rows(store, repetitions)
    if rebuilt:
        show(
            "1. Rebuild of stored steps against a bare sum of four of their columns",
            rebuilt,
            [],
        )
    if hours:
        show(
            "2. One more hour of every job against a rebuild of the same store",
            hours,
            [],
        )


@dataclass(frozen=True)
class _Store:
    """A warehouse with steps, the files it was made from, and more hours to come."""

    what: str
    room: Path
    stored: Delivery
    hours: list[Delivery]

    @property
    def home(self) -> Path:
        return self.room / "home"


@contextmanager
def _store(scale: Scale, shape: Shape) -> Iterator[_Store]:
    """Make a store in a process of its own; afterwards it is deleted."""
    what = f"{_count(shape.steps)} steps" + (", a gap before each" if shape.gap_everywhere else "")
    room = scale.room("store")
    say(f"{what}: making the records and a store of them")
    try:
        (stored, hours), _ = in_child(_make_store, room, shape)
        yield _Store(what, room, stored, hours)
    finally:
        shutil.rmtree(room.parent)


def _make_store(room: Path, shape: Shape) -> tuple[Delivery, list[Delivery]]:
    workload = Workload(room, shape)
    try:
        hours = [workload.hour(number, "parquet") for number in range(shape.hours)]
        stored = workload.stored("parquet")
    finally:
        workload.close()
    with open_warehouse(Home.open(room / "home").warehouse) as con:
        _deliver(con, stored)
        refresh(con, POLICY)
    return stored, hours


def _deliver(con: duckdb.DuckDBPyConnection, delivery: Delivery) -> None:
    """Ingest files; whatever else than that all records are new is a fault of the benchmark."""
    done = ingest(con, delivery.files, "auto", Settings(POLICY))
    if done.failures or done.skipped or any(s.quarantined or s.duplicate for s in done.summaries):
        raise RuntimeError(f"the benchmark's own records were not taken: {done}")


def _rebuild_rows(store: _Store, repetitions: int) -> list[Row]:
    say(f"{store.what}: rebuild and bare sum, {repetitions} times in turn")
    bare = store.room / "bare.duckdb"
    (rebuild, by_name, by_number), _ = in_child(
        _time_rebuild, store.home, bare, store.stored, repetitions
    )
    _, peak = in_child(_rebuild_once, store.home)
    limit = "met" if peak < MEMORY_TARGET_BYTES else "missed"
    return [
        Row(
            f"rebuild, {store.what}",
            rebuild,
            "bare sum",
            by_name,
            repetitions,
            target=REBUILD_TARGET,
            note=f"peak {peak / 1e9:.2f} GB (< {MEMORY_TARGET_BYTES / 1e9:.0f} GB {limit})",
        ),
        Row("", rebuild, "bare sum, job as integer", by_number, repetitions),
    ]


def _time_rebuild(root: Path, bare: Path, stored: Delivery, repetitions: int) -> list[Spent]:
    with open_warehouse(Home.open(root).warehouse) as con:
        _load_bare(con, bare, stored)
        by_name = BARE_SUM.format(job="job", table="steps")
        by_number = BARE_SUM.format(job="job_id", table="numbered")
        return alternating(
            repetitions,
            lambda: refresh(con, POLICY, rebuild=True),
            lambda: con.sql(by_name).to_arrow_table(),
            lambda: con.sql(by_number).to_arrow_table(),
        )


def _load_bare(con: duckdb.DuckDBPyConnection, path: Path, stored: Delivery) -> None:
    """Attach `bare`, with the step records as plain tables: job as text, and as a number."""
    files = ", ".join(f"'{file}'" for file in stored.steps)
    durations = ", ".join(
        f"(round({name}_s * 1e6))::bigint as {name}_us"
        for name in ("duration", "data_wait", "straggler", "checkpoint", "overhead")
    )
    con.execute(f"attach '{path}' as bare")
    con.execute(
        f"create table bare.steps as select job, attempt, step, epoch_us(ts) as ts_us, {durations}"
        f" from read_parquet([{files}])"
    )
    con.execute(
        "create table bare.numbered as select job_id, steps.* exclude (job)"
        " from bare.steps join jobs using (job)"
    )
    con.execute("checkpoint bare")


def _rebuild_once(root: Path) -> None:
    with open_warehouse(Home.open(root).warehouse) as con:
        refresh(con, POLICY, rebuild=True)


def _hour_rows(store: _Store, repetitions: int) -> list[Row]:
    say(f"{store.what}: rebuild and one more hour, {repetitions} times in turn")
    (rebuild, hour, published), _ = in_child(_time_hours, store.home, store.hours, repetitions)
    against = ("rebuild", rebuild, repetitions, HOUR_TARGET)
    return [
        Row(f"ingest, refresh; {store.what} stored", hour, *against),
        Row(f"ingest, refresh, publish; {store.what} stored", published, *against),
    ]


def _time_hours(root: Path, hours: list[Delivery], repetitions: int) -> list[Spent]:
    home = Home.open(root)
    following = iter(hours)

    def one_more() -> None:
        _deliver(con, next(following))
        refresh(con, POLICY)

    def one_more_published() -> None:
        one_more()
        publish(con, home, POLICY, as_of_given=False)

    with open_warehouse(home.warehouse) as con:
        return alternating(
            repetitions,
            lambda: refresh(con, POLICY, rebuild=True),
            one_more,
            one_more_published,
        )


# 3: ingestion -------------------------------------------------------------------------------------


def ingestion(scale: Scale, name: str) -> None:
    """Measure the ingestion of step JSONL against DuckDB's own reader."""
    rows = []
    for lines in LINES:
        steps = scale.sized(lines)
        repetitions = scale.repetitions(5 if lines == MILLION else 3)
        room = scale.room("ingest")
        say(f"{_count(steps)} lines of JSONL: making them")
        path, _ = in_child(_make_lines, room, Shape(steps, jobs=50))
        say(f"{_count(steps)} lines of JSONL: ingest and bare insert, {repetitions} times in turn")
        (ours, bare), _ = in_child(_time_ingest, room, path, repetitions)
        _, peak = in_child(_ingest_lines, room / "peak.duckdb", path)
        rows.append(
            Row(
                f"ingest, {_count(steps)} lines, {path.stat().st_size / 1e6:.0f} MB",
                ours,
                "insert … from read_json",
                bare,
                repetitions,
                target=INGEST_TARGET,
                note=f"peak {peak / 1e9:.2f} GB, {steps / ours.wall_s / 1e3:.0f} thousand lines/s",
            )
        )
        shutil.rmtree(room.parent)
    show("3. Ingest of step JSONL against a bare insert of the same file", rows, [])


def _make_lines(room: Path, shape: Shape) -> Path:
    """One file of step records, in the order of their hours."""
    workload = Workload(room, shape)
    try:
        whole = room / "all.steps.jsonl"
        with whole.open("wb") as target:
            for path in workload.stored("jsonl").steps:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, target)
                path.unlink()
        return whole
    finally:
        workload.close()


def _time_ingest(room: Path, path: Path, repetitions: int) -> list[Spent]:
    ours, bare = room / "ours.duckdb", room / "bare.duckdb"
    return alternating(
        repetitions,
        lambda: _ingest_lines(ours, path),
        lambda: _insert_lines(bare, path),
    )


def _ingest_lines(store: Path, path: Path) -> None:
    store.unlink(missing_ok=True)
    with open_warehouse(store) as con:
        _deliver(con, Delivery(path, ()))


def _insert_lines(store: Path, path: Path) -> None:
    store.unlink(missing_ok=True)
    with duckdb.connect(store) as con:
        con.execute("set enable_progress_bar = false")
        con.execute(f"create table lines as select * from read_json('{path}') limit 0")
        con.execute(f"insert into lines select * from read_json('{path}')")


# 4: the public library ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Figures:
    """What a tool made of the job: `goodput` in percent of its wall-clock, and what it took."""

    goodput: float
    derive: Spent
    whole: Spent


def library(scale: Scale, name: str) -> None:
    """Measure one job against ml-goodput-measurement, each run in a process of its own."""
    title = "4. One job against the public library ml-goodput-measurement"
    if find_spec("ml_goodput_measurement") is None:
        show(title, [], ["not installed: make bench installs it"])
        return
    repetitions = scale.repetitions(3)
    steps = scale.sized(ONE_JOB)
    room = scale.room("library")
    what = f"{_count(steps)} steps, {RESTARTS} restarts"
    say(f"one job, {what}: making its records")
    shape = Shape(steps, jobs=1, restarts=RESTARTS, ends=True)
    (delivery, entries), _ = in_child(_make_job, room, shape)
    say(f"one job, {what}: Headway and the library, {repetitions} times in turn")
    ours, theirs = [], []
    for run in range(repetitions):
        ours.append(in_child(_time_job, room / f"home-{run}", delivery))
        theirs.append(in_child(_time_library, entries, room / f"cache-{run}"))
    shutil.rmtree(room.parent)
    _show_library(title, what, ours, theirs)


def _show_library(
    title: str,
    what: str,
    ours: list[tuple[_Figures, int]],
    theirs: list[tuple[_Figures, int]],
) -> None:
    derive, whole = _least(f.derive for f, _ in ours), _least(f.whole for f, _ in ours)
    call, bare = _least(f.whole for f, _ in theirs), _least(f.derive for f, _ in theirs)
    peak, library_peak = (min(p for _, p in runs) / 1e9 for runs in (ours, theirs))
    against = ("get_job_goodput()", call, len(ours), LIBRARY_TARGET, True)
    memory = f"peak {peak:.2f} GB, its {library_peak:.2f} GB"
    apart = ("the same less its cache file", bare, len(ours), None, True)
    rows = [
        Row(f"derive, {what}", derive, *against, note=memory),
        Row(f"ingest and derive, {what}", whole, *against, note=memory),
        Row(f"derive, {what}", derive, *apart),
    ]
    figures = (
        f"Goodput by Headway {ours[0][0].goodput:.2f} %, by the library"
        f" {theirs[0][0].goodput:.2f} %."
    )
    show(title, rows, [figures, _WHY_THEY_DIFFER])


def _least(found: Iterable[Spent]) -> Spent:
    return reduce(Spent.least, found)


_WHY_THEY_DIFFER = (
    "Both take out the steps that were rolled back. The library counts all time from one step's"
    " start to the next as productive, checkpoint pauses and evaluations included; Headway takes"
    " out those, data wait, stragglers, overhead, the excess of slow steps, and first steps whole."
)


def _make_job(room: Path, shape: Shape) -> tuple[Delivery, Path]:
    """The job's records as files, and a file of what the library's recorder would have logged."""
    workload = Workload(room, shape)
    try:
        entries = room / "entries.jsonl"
        with entries.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in workload.library_entries())
        return workload.stored("jsonl"), entries
    finally:
        workload.close()


def _time_job(root: Path, delivery: Delivery) -> _Figures:
    """Ingest and derive the job, then derive it once more from nothing."""
    home = Home.open(root)

    def ingest_and_derive() -> None:
        with open_warehouse(home.warehouse) as con:
            _deliver(con, delivery)
            refresh(con, POLICY)

    whole = spent(ingest_and_derive)
    with open_warehouse(home.warehouse) as con:
        derive = spent(lambda: refresh(con, POLICY, rebuild=True))
        useful_us, wall_us = one_row(con, "select useful_us, wall_us from goodput")
    return _Figures(100 * useful_us / wall_us, derive, whole)


class _Entries:
    """Stands in for the library's cloud logger, as its tests do: entries already in memory."""

    def __init__(self, path: Path) -> None:
        with path.open(encoding="utf-8") as file:
            self.entries = [json.loads(line) for line in file]

    def read_cloud_logging_entries(self, *_: Any, **__: Any) -> tuple[list[Any], tuple[Any, str]]:
        """All entries, and the time and the id of the last."""
        return self.entries, (datetime.datetime.now(datetime.UTC), "last")


def _time_library(path: Path, cache: Path) -> _Figures:
    """One call of the library; `derive` is that less what its own cache file took."""
    from ml_goodput_measurement.src import goodput

    entries = _Entries(path)
    calculator = goodput.GoodputCalculator("job", "log", entries, cache_dir=str(cache))
    store = calculator._goodput_cache
    apart: list[Spent] = []
    for name in ("update_cached_entries", "get_cached_entries", "get_step_entries"):
        setattr(store, name, _noted(getattr(store, name), apart))
    found: list[Any] = []
    whole = spent(lambda: found.extend(calculator.get_job_goodput(True)))
    return _Figures(found[0], reduce(Spent.less, apart, whole), whole)


def _noted(function: Callable[..., Any], notes: list[Spent]) -> Callable[..., Any]:
    """The function, which also notes what each call took."""

    def noted(*arguments: Any) -> Any:
        found: list[Any] = []
        notes.append(spent(lambda: found.append(function(*arguments))))
        return found[0]

    return noted


# 5: the gate over HTTP ----------------------------------------------------------------------------


def gate(scale: Scale, name: str) -> None:
    """Measure the gate's answers at rest, and while refreshes publish one after the other."""
    steps = scale.sized(MILLION)
    room = scale.room("gate")
    say(f"{_count(steps)} steps: making the records and a published store of them")
    as_of_us, _ = in_child(_make_published, room, Shape(steps, ASKED_JOBS))
    home = room / "home"
    path = f"/v1/gate?change=firmware&as_of={rfc3339(as_of_us)}"
    say(f"{_count(steps)} steps: {ASKED} requests at rest, then {ASKED} during refreshes")
    with serving(home) as port:
        decision = json.loads(answer(port, path))["decision"]
        rest = ask(port, path, ASKED)
        with repeating(_publish_again, home) as published:
            before = published.value
            busy = ask(port, path, ASKED)
            count = published.value - before
    shutil.rmtree(room.parent)
    verdict = "met" if busy.median_s < ASKED_TARGET_S else "missed"
    notes = [
        f"at rest: {rest}",
        f"during {count} publications: {busy}",
        f"median {busy.median_s / rest.median_s:.1f}x that at rest;"
        f" target: below {ASKED_TARGET_S * 1e3:.0f} ms during publications, {verdict}",
    ]
    title = (
        f"5. GET /v1/gate over {_count(steps)} steps of {ASKED_JOBS} jobs, which says {decision}"
    )
    show(title, [], notes)


def _make_published(room: Path, shape: Shape) -> int:
    """Publish a store; the moment up to which its data go."""
    _make_store(room, shape)
    home = Home.open(room / "home")
    with open_warehouse(home.warehouse) as con:
        publish(con, home, POLICY, as_of_given=False)
        return int(one_row(con, "select max(as_of_us) from refreshes")[0])


def _publish_again(root: Path) -> None:
    home = Home.open(root)
    with open_warehouse(home.warehouse) as con:
        refresh(con, POLICY, rebuild=True)
        publish(con, home, POLICY, as_of_given=False)


# 6: pages in a browser ----------------------------------------------------------------------------


def pages(scale: Scale, name: str) -> None:
    """Measure how soon pages are on screen, each after a server start of its own."""
    if find_spec("playwright") is None:
        say("pages: no playwright here, which the dependency group dev has")
        return
    import viewing

    wanted = scale.sized(SHOWN_WANTED)
    root = scale.room("pages") / "home"
    say(f"35 days of {wanted} training jobs at any time: simulating and ingesting them")
    (jobs, job), _ = in_child(_make_cluster, root, wanted)
    notes = [f"{'blank':<12} {viewing.blank(scale.folder)}"]
    for title in SHOWN:
        say(f"{title}: a server start, a browser start, {1 + viewing.RELOADS} views")
        path = {"home": "", "job": f"job?job={job}"}.get(title, title)
        notes.append(f"{title:<12} {viewing.page(root, path)}")
    notes.append("blank: Streamlit with a title and nothing else, the floor of all; target: 1 s")
    show(f"6. Pages over {jobs:,} jobs: until title, first screen and all are drawn", [], notes)
    shutil.rmtree(root.parent.parent)


def _make_cluster(root: Path, wanted: int) -> tuple[int, str]:
    """Publish the demonstration's cluster in another size: its jobs, and the most restarted one."""
    from pipelines.demo import shared_cluster
    from pipelines.progress import Progress
    from pipelines.run import Ingestion, run

    events = root.parent / "events"
    events.mkdir(parents=True)
    until_us = now_us() // HOUR_US * HOUR_US
    shared_cluster.write(events, until_us, wanted)
    home = Home.open(root)
    with Progress() as progress:
        run(home, progress, Ingestion([events]))
    with open_mart(home) as mart:
        (count,) = mart.rows("select count(*) as jobs from jobs where wall_us is not null")
        (most,) = mart.rows("select job from restarts group by job order by count(*) desc limit 1")
    return count["jobs"], most["job"]


# The command line ---------------------------------------------------------------------------------

MEASUREMENTS: dict[str, Callable[[Scale, str], None]] = {
    "rebuild": stores,
    "hour": stores,
    "ingest": ingestion,
    "library": library,
    "gate": gate,
    "pages": pages,
}


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="everything at a tenth of the size")
    parser.add_argument("--only", choices=MEASUREMENTS, help="one measurement")
    asked = parser.parse_args()
    print(machine())
    if asked.quick:
        print("A tenth of the size: fixed costs weigh more; the targets are for the full size.")
    print()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        scale = Scale(10 if asked.quick else 1, Path(folder))
        if asked.only:
            MEASUREMENTS[asked.only](scale, asked.only)
        else:
            for measure in (stores, ingestion, library, gate, pages):
                measure(scale, "all")


def _count(steps: int) -> str:
    return f"{steps / MILLION:g} M"


if __name__ == "__main__":
    main()
