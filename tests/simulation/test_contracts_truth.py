"""The contracts as judged from a simulation's events, against what the simulator knows it broke."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import product
import pytest
from scenarios import made, small

from metrics.contracts import CONTRACTS
from pipelines.simulation.scenario import Disorder

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def judged(long_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Rows]]:
    """What is published of the long run."""
    policy = harness.POLICY.model_copy(update={"shares": product.guaranteed(long_run)})
    with product.delivered_at_once(long_run, tmp_path_factory.mktemp("judged")) as con:
        yield harness.published(
            con, "contracts", "attempts", "restarts", "loans", "waiting", policy=policy
        )


def of(judged: dict[str, Rows], contract: str) -> Rows:
    return [row for row in judged["contracts"] if row["contract"] == contract]


def test_every_contract_has_its_occasions(judged: dict[str, Rows]) -> None:
    assert {row["contract"] for row in judged["contracts"]} == CONTRACTS.keys()


@pytest.mark.parametrize(
    ("contract", "kind"),
    [("preemption_signal", "no_signal"), ("preemption_grace", "short_grace")],
)
def test_a_preemption_is_judged_as_the_simulator_did_it(
    long_run: Path, judged: dict[str, Rows], contract: str, kind: str
) -> None:
    rows = of(judged, contract)
    assert all(row["kept"] is not None for row in rows)
    broken = sorted(
        (row["job"], row["detail"].split()[1].rstrip(":")) for row in rows if not row["kept"]
    )
    known = [row for row in product.truth_rows(long_run, "breaches") if row["kind"] == kind]
    assert broken == sorted((row["job"], str(row["attempt"])) for row in known)
    assert broken


def test_what_a_storage_failure_cost_is_judged_as_the_simulator_knows_it(
    long_run: Path, judged: dict[str, Rows]
) -> None:
    # The simulator promises the interval that a job was planned with; the events tell of it where
    # its submission named it. It dates a loss at the resume, the contract at the failure: the first
    # restart after the last step of the attempt that lost steps.
    named = _jobs_that_name_their_interval(long_run)
    last_steps = {(a["job"], a["attempt"]): a["last_step_us"] for a in judged["attempts"]}
    restarts = {(r["job"], r["detected_us"]): r["cause"] for r in judged["restarts"]}
    broken = {
        (row["job"], row["at_us"])
        for row in of(judged, "failure_loss")
        if row["kept"] is False and row["job"] in named
    }
    known = set()
    for row in product.truth_rows(long_run, "breaches"):
        if row["kind"] == "durability" and row["job"] in named:
            last_us = last_steps[row["job"], row["attempt"]]
            later = (us for job, us in restarts if job == row["job"] and us >= last_us)
            known.add((row["job"], min(later)))
    assert {key for key in broken if restarts[key] == "storage"} == known
    assert len(known) > 5


def _jobs_that_name_their_interval(folder: Path) -> set[str]:
    return {e["job"] for e in _events(folder, "job_submitted") if e.get("checkpoint_interval_s")}


def _events(folder: Path, *names: str) -> Rows:
    return [
        record
        for path in product.event_files(folder)
        if path.name.endswith(".lifecycle.jsonl")
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if record["event"] in names
    ]


TABLES = ("contracts", "waiting", "loans")


def test_hourly_deliveries_with_refreshes_between_them_publish_the_same(tmp_path: Path) -> None:
    scenario = small(21, days=1, jobs=6, bad_week=1, disorder=Disorder.DELIVERY)
    folder = made(scenario, tmp_path / "made")
    (tmp_path / "once").mkdir()
    with product.delivered_at_once(folder, tmp_path / "once") as con:
        expected = harness.published(con, *TABLES)
    assert expected["contracts"]
    with harness.fresh_warehouse() as con:
        for hour, files in enumerate(product.hourly(folder)):
            for path in files:
                harness.ingest_one(con, path)
            if hour % 4 == 0:
                harness.rederive(con)
        harness.rederive(con)
        assert harness.published(con, *TABLES) == expected
        harness.rederive(con, rebuild=True)
        assert harness.published(con, *TABLES) == expected
