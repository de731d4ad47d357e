"""The simulator's truth against what the product derives from its events, to the microsecond.

HEADWAY_SIMULATIONS sets how many simulations are compared.
"""

import os
from pathlib import Path

import harness
import product
import pytest
from scenarios import made, small

from pipelines.simulation.scenario import Disorder

SIMULATIONS = int(os.environ.get("HEADWAY_SIMULATIONS", "8"))


@pytest.mark.parametrize("seed", range(SIMULATIONS))
def test_the_product_derives_the_truth_from_everything_at_once(seed: int, tmp_path: Path) -> None:
    folder = made(small(seed, bad_week=1 if seed % 2 else None), tmp_path / "made")
    assert (
        product.differences(product.derived_at_once(folder, tmp_path), product.truth(folder)) == []
    )


@pytest.mark.parametrize("step_s", [3, 40, 3000])
def test_it_does_whatever_the_length_of_the_steps(step_s: int, tmp_path: Path) -> None:
    folder = made(small(30, days=1, jobs=4, step_s=step_s, bad_week=1), tmp_path / "made")
    assert (
        product.differences(product.derived_at_once(folder, tmp_path), product.truth(folder)) == []
    )


@pytest.mark.parametrize("seed", range(10, 14))
def test_late_repeated_shuffled_and_torn_records_change_nothing(seed: int, tmp_path: Path) -> None:
    scenario = small(seed, bad_week=1, disorder=Disorder.DELIVERY)
    folder = made(scenario, tmp_path / "made")
    assert (
        product.differences(product.derived_at_once(folder, tmp_path), product.truth(folder)) == []
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_capacity_ledger_is_the_truth_of_the_nodes_hour_by_hour(
    seed: int, tmp_path: Path
) -> None:
    disorder = Disorder.DELIVERY if seed == 3 else Disorder.NONE
    folder = made(small(seed, bad_week=1 if seed % 2 else None, disorder=disorder), tmp_path / "m")
    with product.delivered_at_once(folder, tmp_path) as con:
        assert product.node_states(con) == product.true_node_states(folder)
        # What is useful is what the true ledger has of it, but where a node was said not to work.
        (useful,) = con.execute(
            "select sum(gpu_us) from capacity where 'useful' in (category, component)"
        ).fetchone()
        gpus = dict(
            con.execute("select job, gpus from job_facts join jobs using (job_id)").fetchall()
        )
        ledger = product.truth(folder)["ledger"]
        true = sum(
            us * gpus[job]
            for job, rows in ledger.items()
            for (_, category, _, _), us in rows.items()
            if category == "useful"
        )
        assert 0 <= true - useful <= true // 200


@pytest.mark.parametrize(
    ("disorder", "refresh_every"), [(Disorder.NONE, 1), (Disorder.DELIVERY, 4)]
)
def test_hourly_deliveries_with_refreshes_between_them_lead_to_the_truth(
    disorder: Disorder, refresh_every: int, tmp_path: Path
) -> None:
    folder = made(small(21, days=1, jobs=5, bad_week=1, disorder=disorder), tmp_path)
    with harness.fresh_warehouse() as con:
        for hour, files in enumerate(product.hourly(folder)):
            for path in files:
                harness.ingest_one(con, path)
            if hour % refresh_every == 0:
                harness.rederive(con)
        harness.rederive(con)
        assert product.differences(product.answers(con), product.truth(folder)) == []
        assert product.node_states(con) == product.true_node_states(folder)


def test_the_truth_of_a_time_that_ends_between_two_hours_is_as_of_that_moment(
    tmp_path: Path,
) -> None:
    scenario = small(5, days=2)
    odd = type(scenario)(**(vars(scenario) | {"until_us": scenario.until_us + 1_234_567_891}))
    folder = made(odd, tmp_path / "made")
    assert (
        product.differences(product.derived_at_once(folder, tmp_path), product.truth(folder)) == []
    )


def test_the_wall_of_a_job_that_vanished_ends_at_its_last_record(tmp_path: Path) -> None:
    folder = made(small(518, days=3, step_s=900), tmp_path / "made")
    with product.delivered_at_once(folder, tmp_path) as con:
        silent = [job for job, *_, is_silent in harness.walls(con) if is_silent]
        assert len(silent) == 1
        assert product.differences(product.answers(con), product.truth(folder)) == []


def test_a_microsecond_of_difference_is_found(tmp_path: Path) -> None:
    truth = product.truth(made(small(3, days=1, jobs=3), tmp_path))
    changed = {**truth, "ledger": {job: dict(rows) for job, rows in truth["ledger"].items()}}
    job, rows = next(iter(changed["ledger"].items()))
    key = next(iter(rows))
    rows[key] += 1
    assert len(product.differences(changed, truth)) == 1
    assert job in product.differences(changed, truth)[0]


def test_every_kind_of_time_of_the_accounting_occurs(long_run: Path) -> None:
    rows = product.truth_rows(long_run, "ledger")
    found = {(row["category"], row["component"]) for row in rows}
    steps = {"loader", "straggler", "checkpoint", "useful"}
    expected = {(category, "step") for category in steps}
    expected |= {("job", "overhead"), ("job", "phase"), ("checkpoint", "pause")}
    expected |= {("unattributed", name) for name in ("gap", "tail", "slow_step")}
    expected |= {("maintenance", "window"), ("uninstrumented", "run")}
    expected |= {("startup", name) for name in ("launch", "load", "first_step")}
    for category in ("restart", "preemption", "maintenance", "job"):
        parts = ("detect", "requeue", "launch", "load", "first_step", "rework")
        expected |= {(category, component) for component in parts}
    assert expected - found == set()
    causes = {row["cause"] for row in rows}
    assert {
        "hardware",
        "network",
        "storage",
        "software",
        "unknown",
        "rollback",
        "suspended",
    } <= causes


def test_the_truth_holds_restarts_of_every_outcome_and_waits_of_every_basis(
    long_run: Path, tmp_path: Path
) -> None:
    in_trouble = made(small(6, days=2, jobs=24, step_s=1800, bad_week=1), tmp_path)
    restarts, waits = (
        [row for folder in (long_run, in_trouble) for row in product.truth_rows(folder, name)]
        for name in ("restarts", "queue")
    )
    assert {row["outcome"] for row in restarts} == {"recovered", "abandoned", "open"}
    assert any(row["interruptions"] > 1 for row in restarts)
    assert any(row["lost_steps"] for row in restarts)
    bases = {"first_step", "process_started", "resources_allocated", None}
    assert {row["basis"] for row in waits} == bases
    assert {row["censored"] for row in waits} == {True, False}
