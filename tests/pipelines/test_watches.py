"""The warnings about the published numbers: values worked out by hand, thresholds, the unknown."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import dagster as dg
import harness
import pytest

from answers.home import Home
from answers.mart import open_mart
from metrics.policy import Checks
from pipelines.definitions import defs
from pipelines.defs.site import Report, Site
from pipelines.derive import refresh
from pipelines.publish import publish
from pipelines.warehouse import open_warehouse
from pipelines.watches import WATCHES, Watched, look

S = 1_000_000
START_US = harness.RECENT_US - harness.RECENT_US % (3600 * S)
DAY_US = 86_400 * S


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home")


def job(name: str, start_us: int, end_us: int, gpus: int) -> list[dict[str, Any]]:
    """Allocation and end of a job."""
    submitted = {"event": "job_submitted", "ts_us": start_us, "job": name, "tier": "batch"}
    allocated = {
        "event": "resources_allocated",
        "ts_us": start_us,
        "job": name,
        "attempt": 0,
        "gpus": gpus,
    }
    ended = {"event": "job_ended", "ts_us": end_us, "job": name, "outcome": "completed"}
    return [submitted, allocated, ended]


def steps(name: str, start_us: int, count: int) -> list[dict[str, Any]]:
    """Steps of 10 s, one after another."""
    return [
        {
            "job": name,
            "attempt": 0,
            "step": n,
            "ts_us": start_us + 10 * n * S,
            "duration_us": 10 * S,
        }
        for n in range(1, count + 1)
    ]


def published(home: Home, lifecycle: list[dict[str, Any]], of_steps: list[dict[str, Any]]) -> None:
    folder = home.root / "delivered"
    folder.mkdir()
    with open_warehouse(home.warehouse) as con:
        harness.deliver(con, folder, lifecycle, of_steps)
        refresh(con, harness.POLICY)
        publish(con, home, harness.POLICY, as_of_given=False)


def found(home: Home, name: str, checks: Checks | None = None) -> Watched:
    (watch,) = (watch for watch in WATCHES if watch.name == name)
    with open_mart(home) as mart:
        return look(mart, checks or Checks(), watch)


def test_an_empty_store_is_unknown_and_never_0(home: Home) -> None:
    published(home, [], [])
    for watch in WATCHES:
        judged = found(home, watch.name)
        assert judged.value is None
        assert judged.fine is None
        assert judged.in_words() == "unknown: no data to judge in the newest 7 days"


def test_coverage_weighs_by_gpu_and_names_the_uncovered(home: Home) -> None:
    # 100 s on 3 GPUs with steps, 100 s on 1 GPU without: 300 of 400 GPU-seconds.
    published(
        home,
        [
            *job("with", START_US, START_US + 100 * S, 3),
            *job("without", START_US, START_US + 100 * S, 1),
        ],
        steps("with", START_US, 10),
    )
    judged = found(home, "coverage")
    assert judged.value == Fraction(3, 4)
    assert judged.fine is False
    assert [row["name"] for row in judged.worst] == ["without"]
    assert found(home, "coverage", Checks(coverage=Decimal("0.75"))).fine
    assert not found(home, "coverage", Checks(coverage=Decimal("0.750000000000000001"))).fine


def test_unattributed_time_is_a_share_of_instrumented_time_only(home: Home) -> None:
    # 10 s without an explanation after the last step, of 100 s; the job without steps says nothing.
    published(
        home,
        [
            *job("tail", START_US, START_US + 100 * S, 1),
            *job("without", START_US, START_US + 900 * S, 1),
        ],
        steps("tail", START_US, 9),
    )
    judged = found(home, "unattributed_share")
    assert judged.value == Fraction(1, 10)
    assert judged.fine is False
    assert "10 %, at most 5 % is fine: look at" in judged.in_words()
    assert [row["name"] for row in judged.worst] == ["tail"]
    assert found(home, "unattributed_share", Checks(unattributed_share=Decimal("0.1"))).fine


def test_a_silent_job_warns_while_its_last_record_is_inside_the_window(home: Home) -> None:
    begun = job("gone", START_US, 0, 1)[:2]
    later = job("later", START_US + 2 * DAY_US, START_US + 2 * DAY_US + 100 * S, 1)
    published(home, [*begun, *later], steps("gone", START_US, 200))
    judged = found(home, "silent_jobs")
    assert (judged.value, judged.fine) == (1, False)
    assert [row["name"] for row in judged.worst] == ["gone"]
    assert "1, at most 0 is fine: see whether" in judged.in_words()
    assert found(home, "silent_jobs", Checks(silent_jobs=1)).fine
    assert found(home, "silent_jobs", Checks(window_days=1)).fine


def test_the_quarantined_share_counts_records_and_names_files(home: Home) -> None:
    bad = {"event": "no such event", "ts_us": START_US, "job": "a"}
    published(home, [*job("a", START_US, START_US + S, 1), bad], [])
    judged = found(home, "quarantine_share")
    assert judged.value == Fraction(1, 4)
    assert judged.fine is False
    assert judged.worst[0]["name"].endswith("0.lifecycle.jsonl")
    assert found(home, "quarantine_share", Checks(quarantine_share=Decimal("0.25"))).fine


def test_the_checks_warn_hold_nothing_back_and_tell_value_threshold_and_worst(home: Home) -> None:
    inbox = home.root / "inbox"
    inbox.mkdir()
    harness.write_jsonl(inbox / "a.lifecycle.jsonl", job("a", START_US, START_US + 100 * S, 1))
    result = defs.resolve_job_def("refresh").execute_in_process(
        resources={"site": Site(home=str(home.root)), "report": Report()}
    )
    assert result.success
    told = {
        evaluation.check_name: evaluation
        for evaluation in result.get_asset_check_evaluations()
        if not evaluation.blocking
    }
    assert set(told) == {watch.name for watch in WATCHES}
    assert not told["coverage"].passed
    assert told["coverage"].severity is dg.AssetCheckSeverity.WARN
    metadata = told["coverage"].metadata
    assert (metadata["value"].value, metadata["threshold"].value) == (0.0, 0.9)
    assert [record.data["name"] for record in metadata["worst"].records] == ["a"]
    assert told["unattributed_share"].metadata["value"].value == "unknown"
    assert told["unattributed_share"].passed
