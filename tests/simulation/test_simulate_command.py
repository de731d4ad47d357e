"""`headway simulate`: what it writes, what it refuses, and that it judges without the models."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import product
import pytest
from scenarios import made, small
from typer.testing import CliRunner

from metrics.errors import UsageError
from pipelines.cli import app
from pipelines.records import time_us
from pipelines.simulation.scenario import Disorder

QUICK = ["--jobs", "3", "--days", "1", "--step-seconds", "600"]


def headway(*arguments: str) -> str:
    """What `headway simulate` prints; raises what it raises."""
    result = CliRunner().invoke(app, ["simulate", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def digest(folder: Path) -> dict[str, str]:
    """Every file of a simulation, by what is in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("disorder", [Disorder.NONE, Disorder.DELIVERY])
def test_the_same_seed_gives_the_same_bytes(disorder: Disorder, tmp_path: Path) -> None:
    scenario = small(1, days=2, jobs=5, disorder=disorder)
    assert digest(made(scenario, tmp_path / "a")) == digest(made(scenario, tmp_path / "b"))


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    one = digest(made(small(1, days=1, jobs=3), tmp_path / "a"))
    other = digest(made(small(2, days=1, jobs=3), tmp_path / "b"))
    same = {name for name, content in one.items() if other.get(name) == content}
    assert "truth/ledger.parquet" not in same
    assert not any(name.startswith("events/") for name in same)


def test_it_says_how_much_it_made_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    said = headway(*QUICK, "--out", str(tmp_path / "out"))
    assert "jobs on" in said and "steps" in said
    assert not list(tmp_path.rglob("*.tmp"))
    truth = {path.stem for path in (tmp_path / "out" / "truth").glob("*.parquet")}
    assert truth == {
        *("ledger", "restarts", "queue", "waits", "waiting"),
        *("contracts", "breaches", "capacity", "shares"),
    }


def test_it_ends_at_the_moment_that_is_asked_for(tmp_path: Path) -> None:
    headway(*QUICK, "--until", "2026-03-04T05:06:07+02:00", "--out", str(tmp_path / "out"))
    stamps = [
        time_us(json.loads(line)["ts"])
        for path in product.event_files(tmp_path / "out")
        if path.name.endswith(".jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert max(stamps) == time_us("2026-03-04T03:06:07Z")
    assert min(stamps) == time_us("2026-03-03T03:06:07Z")


def test_without_out_it_writes_to_the_site(tmp_path: Path) -> None:
    headway(*QUICK, "--home", str(tmp_path))
    assert (tmp_path / "simulated" / "events").is_dir()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--bad-week", "2"], "--bad-week 2"),
        (["--disorder", "chaos"], "--disorder chaos"),
        (["--until", "tomorrow"], "--until tomorrow"),
        (["--until", "2000-01-01T12:00:00Z"], "--days 1"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(
    arguments: list[str], named: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=named):
        headway(*QUICK, *arguments, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_directory_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="something already"):
        headway(*QUICK, "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_truth_comes_without_any_model_of_the_product() -> None:
    code = (
        "import sys, pipelines.simulation.engine;"
        "print([m for m in sys.modules if m.split('.')[0] in ('sql', 'duckdb', 'dagster')"
        " or m in ('pipelines.derive', 'pipelines.ingest', 'pipelines.warehouse')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
