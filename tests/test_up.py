"""`headway up`: the inbox, Dagster's page, and what a kill of a run or of the daemon leaves."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import services
from services import Up, until

from answers import questions
from answers.home import Home
from answers.mart import open_mart
from metrics.errors import UsageError
from pipelines.definitions import defs
from pipelines.derive import STAGES
from pipelines.listening import Listening
from pipelines.up import up as start

SAMPLE = services.ROOT / "pipelines" / "demo" / "slurm-training"


def numbers(home: Path) -> tuple[Any, ...]:
    """All that the mart answers."""
    with open_mart(Home(home)) as mart:
        return (
            questions.ledger(mart, None),
            questions.restarts(mart, None),
            mart.rows("select * from queue_waits order by all"),
            mart.rows("from capacity order by all"),
            mart.rows("from contracts order by all"),
            mart.rows(
                "select parse_filename(path) as file, * exclude (path, ingested_at_us) from files"
                " order by all"
            ),
        )


def published(home: Path) -> str:
    pointer = home / "mart" / "CURRENT"
    return pointer.read_text() if pointer.exists() else ""


def deliver(home: Path) -> None:
    """Put the sample into the inbox, as a writer should: under another name first."""
    inbox = home / "inbox"
    inbox.mkdir(exist_ok=True)
    for file in SAMPLE.iterdir():
        if file.suffix != ".md":
            shutil.copy(file, inbox / f"{file.name}.part")
            (inbox / f"{file.name}.part").rename(inbox / file.name)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory, home: Path) -> tuple[Any, ...]:
    """What a home answers that was fed the same inbox from the command line."""
    deliver(home)
    made = tmp_path_factory.mktemp("quiet")
    command(made, "ingest", str(home / "inbox"))
    return numbers(made)


@pytest.fixture(scope="module")
def up(home: Path, quiet: tuple[Any, ...]) -> Iterator[Up]:
    """A site that runs, its inbox full from the beginning."""
    running = Up(home)
    try:
        running.ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.end()


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        env=services.ENVIRONMENT | {"HEADWAY_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def run_of_the_inbox(up: Up) -> dict[str, Any] | None:
    tagged = [run for run in up.runs() if any(tag["key"] == "headway/inbox" for tag in run["tags"])]
    return tagged[0] if tagged else None


def test_files_in_the_inbox_are_ingested_once_by_one_run(
    up: Up, home: Path, quiet: tuple[Any, ...]
) -> None:
    run = until(lambda: run_of_the_inbox(up), "a run for the inbox")
    assert up.wait_for(run["runId"], "SUCCESS", "FAILURE") == "SUCCESS"
    assert numbers(home) == quiet
    assert [run["jobName"] for run in up.runs()] == ["refresh"]
    assert run["runId"] not in up.said()  # what a run did stands on the page


def test_its_output_names_the_addresses_and_no_other_than_the_loopback(up: Up) -> None:
    ports = (up.port, up.app_port, up.gate_port)
    assert [f"http://127.0.0.1:{port}" in up.said() for port in ports] == [True] * 3
    assert "careful" not in up.said()
    listening = subprocess.run(
        [sys.executable, "-c", LISTENERS, *map(str, up.descendants())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert set(listening) == {f"0100007F:{port:04X}" for port in ports}


LISTENERS = """
import os, sys
sockets = set()
for pid in sys.argv[1:]:
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
for table in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
        field = line.split()
        if field[3] == "0A" and f"socket:[{field[9]}]" in sockets:
            print(field[1])
"""


JOBS = sorted(job.name for job in defs.resolve_all_job_defs() if not job.name.startswith("_"))


@pytest.mark.parametrize("job", JOBS)
def test_every_job_runs_from_the_page_and_changes_no_number(
    up: Up, home: Path, quiet: tuple[Any, ...], job: str
) -> None:
    assert up.wait_for(up.launch(job), "SUCCESS", "FAILURE") == "SUCCESS"
    assert numbers(home) == quiet


def test_a_rebuild_of_every_asset_from_the_page_gives_the_same_numbers(
    up: Up, home: Path, quiet: tuple[Any, ...]
) -> None:
    before = published(home)
    anew = {"ops": {"derivation": {"config": {"rebuild": True}}}}
    derived = [name for name, *_ in STAGES] + ["mart"]
    run = up.launch("__ASSET_JOB", derived, anew)
    assert up.wait_for(run, "SUCCESS", "FAILURE") == "SUCCESS"
    assert published(home) != before
    assert numbers(home) == quiet


@pytest.mark.skipif(
    "HEADWAY_CHAOS" not in os.environ,
    reason="the next kills more than this; `make chaos` runs both",
)
def test_a_run_that_is_killed_is_started_again_and_completes(
    up: Up, home: Path, quiet: tuple[Any, ...]
) -> None:
    before = published(home)
    up.at_rest()
    with duckdb.connect(home / "warehouse.duckdb"):  # so the run waits at a known place
        run = up.launch("refresh")
        up.wait_for(run, "STARTED")
        os.kill(worker(up, run), signal.SIGKILL)
        assert up.wait_for(run, "FAILURE", "SUCCESS") == "FAILURE"
        assert numbers(home) == quiet
    again = until(lambda: retry_of(up, run), "another try")
    assert up.wait_for(again, "SUCCESS", "FAILURE") == "SUCCESS"
    assert published(home) != before
    assert numbers(home) == quiet


def worker(up: Up, run_id: str) -> int:
    """The process of a run."""

    def pid() -> int | None:
        told = [text for text in up.events(run_id) if "in process (pid:" in text]
        return int(told[0].split("pid:")[1].strip(" )")) if told else None

    return until(pid, "the run's process")


def retry_of(up: Up, run_id: str) -> str | None:
    parent = {"key": "dagster/parent_run_id", "value": run_id}
    return next((run["runId"] for run in up.runs() if parent in run["tags"]), None)


def test_a_run_that_is_killed_with_its_code_server_does_not_hold_the_queue_for_ever(
    up: Up, home: Path, quiet: tuple[Any, ...]
) -> None:
    up.at_rest()
    with duckdb.connect(home / "warehouse.duckdb"):
        run = up.launch("refresh")
        up.wait_for(run, "STARTED")
        at_work = worker(up, run)
        os.kill(services.processes()[at_work][0], signal.SIGKILL)
        os.kill(at_work, signal.SIGKILL)
        assert up.wait_for(run, "FAILURE", "SUCCESS") == "FAILURE"
    # With its code server away Dagster may miss the retry: then the next run does the work.
    following = retry_of(up, run) or up.launch("refresh")
    assert up.wait_for(following, "SUCCESS", "FAILURE") == "SUCCESS"
    assert numbers(home) == quiet


_FRESHNESS = """{ assetNodeOrError(assetKey: {path: ["mart"]}) {
  ... on AssetNode { freshnessStatusInfo { freshnessStatus } } } }"""


def test_the_mart_is_fresh_after_it_was_published(up: Up) -> None:
    def healthy() -> bool:
        info = up.ask(_FRESHNESS)["assetNodeOrError"]["freshnessStatusInfo"]
        return bool(info) and info["freshnessStatus"] == "HEALTHY"

    assert until(healthy, "the mart to be fresh")


def test_a_second_up_in_the_same_home_is_refused(up: Up, home: Path) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "up"],
        env=services.ENVIRONMENT | {"HEADWAY_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert second.returncode == 1
    assert f"runs here already (process {up.process.pid})" in second.stderr


@pytest.mark.parametrize("option", ["--port", "--app-port", "--gate-port"])
def test_a_taken_port_is_told_before_anything_starts(up: Up, tmp_path: Path, option: str) -> None:
    free = {name: str(services.free_port()) for name in ("--port", "--app-port", "--gate-port")}
    taken = free | {option: str(up.port)}
    other = subprocess.run(
        [
            sys.executable,
            "-m",
            "pipelines.cli",
            "up",
            *(word for pair in taken.items() for word in pair),
        ],
        env=services.ENVIRONMENT | {"HEADWAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert other.returncode == 2
    assert f"127.0.0.1:{up.port} cannot be listened on" in other.stderr
    assert f"say another with {option}" in other.stderr


def test_one_port_for_two_is_told_before_anything_starts(tmp_path: Path) -> None:
    port = services.free_port()
    with pytest.raises(UsageError, match=f"--port and --gate-port are both {port}"):
        start(Home.open(tmp_path), Listening("127.0.0.1", port, services.free_port(), port), print)


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def _damage(place: Path) -> None:
    (place / "history").mkdir(parents=True)
    (place / "history" / "runs.db").write_bytes(bytes(range(256)) * 20)


@pytest.mark.parametrize(
    ("damage", "limit", "says"),
    [(None, _limit_files, "disk I/O error"), (_damage, None, "file is not a database")],
    ids=["no room", "damaged"],
)
def test_a_list_of_runs_that_cannot_be_kept_is_told_in_words(
    tmp_path: Path,
    damage: Callable[[Path], None] | None,
    limit: Callable[[], None] | None,
    says: str,
) -> None:
    if damage:
        damage(tmp_path / "dagster")
    ports = [words for name in ("--port", "--app-port", "--gate-port") for words in (name, free())]
    done = subprocess.run(
        [sys.executable, "-m", "pipelines", "up", *ports],
        env=services.ENVIRONMENT | {"HEADWAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 1
    assert f"{tmp_path / 'dagster'}: Dagster's list of runs cannot be kept ({says}" in done.stderr
    assert "Traceback" not in done.stderr


def free() -> str:
    return str(services.free_port())


def test_a_killed_daemon_ends_all_and_the_next_start_completes_its_run(
    up: Up, home: Path, quiet: tuple[Any, ...]
) -> None:
    before = published(home)
    up.at_rest()
    with duckdb.connect(home / "warehouse.duckdb"):
        run = up.launch("refresh")
        up.wait_for(run, "STARTED")
        worker(up, run)
        below = up.descendants()
        (daemon,) = (pid for pid, text in below.items() if "dagster._daemon" in text)
        told = len(up.said())
        os.kill(daemon, signal.SIGKILL)
        assert up.process.wait(60) == 1
        assert "headway: the daemon was ended by SIGKILL" in up.said()[told:]
        assert "Traceback" not in up.said()[told:]
        assert not below.keys() & services.processes().keys()
        assert numbers(home) == quiet
    second = Up(home)
    try:
        second.ready()
        again = until(lambda: retry_of(second, run), "another try")
        assert second.wait_for(again, "SUCCESS", "FAILURE") == "SUCCESS"
        assert published(home) != before
        assert numbers(home) == quiet
        assert "1 runs were under way" in second.said()
    finally:
        assert second.end() == 0
