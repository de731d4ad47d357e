"""Groups, the two named figures and money, on figures that can be checked on paper."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.capacity import (
    DELIBERATE,
    GROUPS,
    NODE,
    Spent,
    cost,
    group_of,
    is_allocated,
    rounded,
)
from metrics.conventions import CATEGORIES, DAY_US, HOUR_US
from metrics.policy import Price

H = HOUR_US
STATES = (
    "spare_for_restart",
    "warm_pool",
    "draining",
    "gang_reserved",
    "backfill",
    "maintenance",
    "down",
    "power_capped",
    "stranded",
    "idle",
    "unknown",
)


def test_10000_gpus_at_2_dollars_are_480000_dollars_a_day() -> None:
    price = Price(per_gpu_hour=Decimal("2.00"))
    assert cost(10_000 * DAY_US, price) == 480_000


def test_a_microsecond_among_26_quadrillion_changes_what_it_costs() -> None:
    # 10,000 GPUs over 30 days are 2.6e16 GPU-µs, more than a float holds.
    whole = 10_000 * 30 * DAY_US
    price = Price(per_gpu_hour=Decimal("2.00"))
    assert cost(whole + 1, price) - cost(whole, price) == Fraction(2, HOUR_US)


def test_the_gap_is_what_is_on_purpose_and_the_rest() -> None:
    spent = Spent(
        {
            ("useful", "step"): 60 * H,
            ("restart", "rework"): 5 * H,
            ("uninstrumented", "run"): 3 * H,
            ("allocated", "no_record"): 2 * H,
            ("spare_for_restart", "node"): 7 * H,
            ("warm_pool", "node"): 1 * H,
            ("gang_reserved", "node"): 4 * H,
            ("backfill", "useful"): 2 * H,
            ("backfill", "restart"): 1 * H,
            ("draining", "useful"): 1 * H,
            ("draining", "node"): 2 * H,
            ("maintenance", "node"): 3 * H,
            ("maintenance", "window"): 1 * H,
            ("down", "node"): 2 * H,
            ("power_capped", "node"): 1 * H,
            ("stranded", "node"): 2 * H,
            ("idle", "node"): 2 * H,
            ("unknown", "node"): 1 * H,
        }
    )
    assert spent.installed == 100 * H
    # Useful steps are useful on lent and draining nodes, too: 60 + 2 + 1.
    assert spent.busy == 63 * H
    # 60 + 5 + 3 + 2 of allocated nodes and 1 of a job's window, 3 lent, 1 of a draining node.
    assert spent.allocated == 75 * H
    # 7 + 1 + 4 + 1 in reserve, 2 + 3 for upkeep.
    assert spent.deliberate == 18 * H
    assert spent.rest == 19 * H
    assert spent.by_group == {
        "useful": 63 * H,
        "lost": 6 * H,
        "no_record": 5 * H,
        "reserves": 13 * H,
        "upkeep": 5 * H,
        "down": 3 * H,
        "stranded": 2 * H,
        "idle": 2 * H,
        "unknown": 1 * H,
    }


def test_nothing_installed_has_no_share() -> None:
    assert Spent({}).share(0) is None


@pytest.mark.parametrize("category", CATEGORIES)
def test_what_a_job_loses_is_lost_and_allocated(category: str) -> None:
    assert group_of(category, "requeue") == "lost"
    assert is_allocated(category, "requeue")


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_node_has_a_group(state: str) -> None:
    assert group_of(state, "node") in GROUPS
    assert is_allocated(state, "node") is (state == "backfill")


def test_what_is_deliberate_is_a_group() -> None:
    assert set(DELIBERATE) < set(GROUPS)


@given(st.lists(st.fractions(0, 10**6, max_denominator=10**6), max_size=30))
def test_rounded_parts_add_up_and_none_is_off_by_one(parts: list[Fraction]) -> None:
    whole = rounded(parts)
    assert sum(whole) == round(sum(parts, Fraction(0)))
    assert all(abs(amount - part) < 1 for amount, part in zip(whole, parts, strict=True))


def test_the_busy_share_is_the_least_where_a_job_records_no_steps_and_unknown_where_none_does() -> (
    None
):
    recorded = {("useful", "step"): 6 * H, ("restart", "requeue"): 1 * H, ("idle", NODE): 1 * H}
    hidden = {("uninstrumented", "run"): 2 * H, ("allocated", "no_record"): 1 * H}
    assert (Spent(recorded).unrecorded, Spent(recorded).is_use_known) == (0, True)
    assert (Spent(recorded | hidden).unrecorded, Spent(recorded | hidden).is_use_known) == (
        3 * H,
        True,
    )
    assert not Spent(hidden | {("idle", NODE): 1 * H}).is_use_known
    # What a job without steps loses to a restart says nothing of what it did otherwise.
    assert not Spent(hidden | {("restart", "requeue"): 1 * H}).is_use_known
    # GPUs that nobody had were not useful: that is known.
    assert Spent({("idle", NODE): 1 * H}).is_use_known
