"""The freeze: each transition by example, and what must hold whatever the data do."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from metrics.budget import State
from metrics.conventions import HOUR_US
from metrics.freeze import Freeze, Hour, Reading, Standing, advance, replay

OPEN, FROZEN, UNKNOWN = Standing.OPEN, Standing.FROZEN, Standing.UNKNOWN

GOOD = Reading("goodput", "fleet", State.WITHIN, above_thaw=True, required=True)
LOW = replace(GOOD, above_thaw=False)
SPENT = Reading("goodput", "fleet", State.EXHAUSTED, above_thaw=False, required=True)
MISSING = Reading("goodput", "fleet", State.UNKNOWN, above_thaw=True, required=True)
FEW = Reading("queue-wait", "tier=standard", State.INSUFFICIENT, above_thaw=False)
NONE = Reading("time-to-restart", "fleet", State.UNKNOWN, above_thaw=True)


def course(*hours: tuple[Reading, ...] | None) -> list[Standing]:
    """The states after hours with these readings; None: an hour whose data are stale."""
    made = [
        Hour(place * HOUR_US, readings is None, readings or (GOOD,))
        for place, readings in enumerate(hours)
    ]
    return [freeze.standing for freeze in replay(made)]


def test_it_freezes_when_a_gating_budget_is_exhausted() -> None:
    assert course((GOOD,), (SPENT,)) == [OPEN, FROZEN]


def test_it_stays_frozen_until_the_thaw_level_is_reached() -> None:
    assert course((SPENT,), (LOW,), (LOW,), (GOOD,)) == [FROZEN, FROZEN, FROZEN, OPEN]


def test_a_budget_below_the_thaw_level_freezes_nothing_by_itself() -> None:
    assert course((GOOD,), (LOW,)) == [OPEN, OPEN]


def test_every_gating_budget_has_to_be_above_the_level() -> None:
    other = replace(LOW, slo="time-to-restart", required=False)
    assert course((SPENT,), (GOOD, other), (GOOD,)) == [FROZEN, FROZEN, OPEN]


def test_goodput_must_be_known() -> None:
    assert course((GOOD,), (MISSING,), (GOOD,)) == [OPEN, UNKNOWN, OPEN]


def test_others_gate_only_when_they_have_enough_events() -> None:
    assert course((GOOD, FEW, NONE)) == [OPEN]
    assert course((SPENT,), (GOOD, FEW, NONE)) == [FROZEN, OPEN]


def test_a_freeze_comes_back_from_unknown_even_with_every_budget_recovered() -> None:
    assert course((SPENT,), None, (GOOD,), (GOOD,)) == [FROZEN, UNKNOWN, FROZEN, OPEN]


def test_an_open_scope_comes_back_open() -> None:
    assert course((GOOD,), None, (LOW,)) == [OPEN, UNKNOWN, OPEN]


READINGS = st.sampled_from([(GOOD,), (LOW,), (SPENT,), (MISSING,), (GOOD, FEW), (LOW, NONE)])
HOURS = st.lists(st.builds(Hour, st.just(0), st.booleans(), READINGS), max_size=60)


@given(HOURS)
def test_replaying_the_same_hours_decides_the_same(hours: list[Hour]) -> None:
    assert replay(hours) == replay(list(hours))


@given(HOURS, HOURS)
def test_what_comes_later_never_changes_what_was_decided(
    hours: list[Hour], later: list[Hour]
) -> None:
    assert replay([*hours, *later])[: len(hours)] == replay(hours)


@given(HOURS)
def test_there_is_one_state_after_each_hour(hours: list[Hour]) -> None:
    found = replay(hours)
    assert len(found) == len(hours)
    assert all(
        state.latched == (state.standing is FROZEN)
        for state in found
        if state.standing is not UNKNOWN
    )


@given(HOURS)
def test_stale_data_never_thaw(hours: list[Hour]) -> None:
    for before, hour, after in _steps(hours):
        if hour.stale:
            assert after == Freeze(UNKNOWN, before.latched)
        if before.latched and after.standing is OPEN:
            assert before.standing is FROZEN
            assert hour.is_known


@given(st.lists(st.sampled_from([(LOW,), (SPENT,)]), max_size=40))
def test_it_does_not_flap_inside_the_hysteresis(readings: list[tuple[Reading, ...]]) -> None:
    # Between exhausted and the thaw level the state changes once at most: to frozen.
    found = course(*readings)
    assert sum(a is not b for a, b in pairwise(found)) <= 1


@given(HOURS)
def test_it_opens_only_where_nothing_keeps_it_frozen(hours: list[Hour]) -> None:
    for before, hour, after in _steps(hours):
        if before.standing is FROZEN and after.standing is OPEN:
            assert not any(reading.keeps_frozen for reading in hour.readings)


def _steps(hours: list[Hour]) -> list[tuple[Freeze, Hour, Freeze]]:
    state, found = Freeze(), []
    for hour in hours:
        after = advance(state, hour)
        found.append((state, hour, after))
        state = after
    return found
