"""The cluster's side against the simulator's truth: contracts, reasons of waits, fair shares.

Every occasion of every contract, every turn of every wait and every tenant's hour is compared, to
the microsecond. HEADWAY_SIMULATIONS sets how many simulations are.
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import product
import pytest
from scenarios import made, small

from metrics.contracts import CONTRACTS
from pipelines.simulation.scenario import Disorder, Lapses, Scenario

SIMULATIONS = int(os.environ.get("HEADWAY_SIMULATIONS", "4"))
LAPSES = Lapses(
    late_data=0.2, ignored_tiers=0.3, lost_requeues=0.2, open_loans=0.5, late_returns=0.5
)
"""Contracts that the platform keeps by itself. Gangs are apart: who got less than it asked for
holds less of its tenant's share than its submission says."""


def differences(scenario: Scenario, scratch: Path) -> tuple[list[str], product.Answers]:
    """What differs in a scenario, and its truth."""
    folder = made(scenario, scratch / "made")
    truth = product.cluster_truth(folder)
    return product.cluster_differences(product.cluster_answers(folder, scratch), truth), truth


def crowded(seed: int) -> Scenario:
    """Two days in which many jobs want what others have; they end inside an hour."""
    scenario = small(
        seed,
        days=2,
        jobs=16 + seed % 30,
        step_s=(300, 900, 1800)[seed % 3],
        bad_week=None if seed % 2 else 1,
        disorder=Disorder.DELIVERY if seed % 4 == 3 else Disorder.NONE,
    )
    return replace(scenario, until_us=scenario.until_us + seed * 977_123_457)


@pytest.mark.parametrize("seed", range(100, 100 + SIMULATIONS))
def test_contracts_waits_and_shares_are_those_of_the_simulator(seed: int, tmp_path: Path) -> None:
    found, _ = differences(crowded(seed), tmp_path)
    assert found == []


def test_they_are_where_the_platform_breaks_what_it_keeps_by_itself(tmp_path: Path) -> None:
    found, truth = differences(replace(crowded(146), lapses=LAPSES), tmp_path)
    assert found == []
    broken = {contract for contract, *_, kept in truth["contracts"] if kept is False}
    assert broken >= {
        *("staged_data", "tier_preemption", "preemption_requeue", "backfill_loan"),
    }


def test_gangs_that_start_without_a_node_are_found(tmp_path: Path) -> None:
    scenario = replace(small(2, days=1, jobs=12, step_s=1800), lapses=Lapses(partial_gangs=0.3))
    found, truth = differences(scenario, tmp_path)
    assert [line for line in found if "gang_start" in line] == []
    verdicts = Counter(
        kept for contract, *_, kept in truth["contracts"] if contract == "gang_start"
    )
    assert verdicts[True] and verdicts[False]


def test_the_long_run_is_judged_as_the_simulator_did_it(long_run: Path, tmp_path: Path) -> None:
    truth = product.cluster_truth(long_run)
    assert product.cluster_differences(product.cluster_answers(long_run, tmp_path), truth) == []
    verdicts = {(contract, kept) for contract, *_, kept in truth["contracts"]}
    assert {contract for contract, _ in verdicts} == CONTRACTS.keys()
    broken = {contract for contract, kept in verdicts if kept is False}
    assert broken >= {
        *("preemption_signal", "preemption_grace", "preemption_checkpoint", "preemption_loss"),
        *("failure_loss", "guaranteed_share"),
    }


def test_the_truth_of_waits_holds_every_reason_that_the_simulator_knows(long_run: Path) -> None:
    reasons = Counter(
        (part, reason) for _, _, _, part, reason in product.cluster_truth(long_run)["waits"]
    )
    assert {reason for part, reason in reasons if part == "pending"} >= {
        *("quota", "gang_size", "priority", "user_hold", "dependency"),
    }
    assert {part for part, _ in reasons} >= {"pending", "launch", "load", "first_step"}


def test_the_truth_of_a_wait_sums_to_the_wait(long_run: Path) -> None:
    spent: Counter[str] = Counter()
    for turn in product.truth_rows(long_run, "waits"):
        spent[turn["job"]] += turn["end_us"] - turn["start_us"]
    waits = {row["job"]: row["wait_us"] for row in product.truth_rows(long_run, "queue")}
    assert spent == Counter({job: us for job, us in waits.items() if us})


def test_the_truth_of_shares_lends_and_borrows(long_run: Path) -> None:
    rows = product.truth_rows(long_run, "shares")
    assert any(row["lent_gpu_us"] for row in rows) and any(row["borrowed_gpu_us"] for row in rows)


@pytest.mark.parametrize("name", ["waits", "parts", "shares"])
def test_a_microsecond_of_difference_is_found(name: str, long_run: Path) -> None:
    truth = product.cluster_truth(long_run)
    row = min(truth[name], key=str)
    place = len(row) - 1 if isinstance(row[-1], int) else 2
    other = (*row[:place], row[place] + 1, *row[place + 1 :])
    changed = truth | {name: truth[name] - Counter([row]) + Counter([other])}
    assert len(product.cluster_differences(changed, truth)) == 2


def test_another_verdict_is_found(long_run: Path) -> None:
    truth = product.cluster_truth(long_run)
    row = next(row for row in truth["contracts"] if row[3] is False)
    verdicts = truth["contracts"] - Counter([row]) + Counter([(*row[:3], True)])
    assert len(product.cluster_differences(truth | {"contracts": verdicts}, truth)) == 2
