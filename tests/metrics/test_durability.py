"""Bounds of the failure rate against published values, and which runs are tested next."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.durability import (
    Candidate,
    Promise,
    failure_rate_bound,
    plan_tests,
    promise,
    promise_of_all,
)

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("passes", "failures", "bound"),
    [
        # 1 − 0.05^(1/n), by hand: 0.05 = (1 − p)^n.
        (1, 0, 0.95),
        (2, 0, 0.776393),
        (59, 0, 0.0495076),
        # One-sided 95 % Clopper–Pearson limits, the 0.95 quantiles of Beta(k + 1, n − k).
        (9, 1, 0.3941633),
        (8, 2, 0.5069013),
        (98, 2, 0.0616202),
        (1, 1, 0.9746794),
    ],
)
def test_the_bound_is_that_of_clopper_and_pearson(passes: int, failures: int, bound: float) -> None:
    assert failure_rate_bound(passes, failures) == pytest.approx(bound, abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 10))
def test_at_the_bound_so_few_failures_have_a_chance_of_5_percent(
    passes: int, failures: int
) -> None:
    p, n = failure_rate_bound(passes, failures) or 0.0, passes + failures
    seen = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(failures + 1))
    assert seen == pytest.approx(0.05, abs=1e-8)


def test_without_a_test_nothing_is_known_and_without_a_pass_everything_may_fail() -> None:
    assert failure_rate_bound(0, 0) is None
    assert failure_rate_bound(0, 3) == 1


@given(st.integers(0, 40), st.integers(1, 20))
def test_more_passes_lower_the_bound_and_more_failures_raise_it(passes: int, failures: int) -> None:
    bound = failure_rate_bound(passes, failures)
    better, worse = (
        failure_rate_bound(passes + 1, failures),
        failure_rate_bound(passes, failures - 1),
    )
    assert bound is not None and better is not None
    assert better < bound
    assert worse is None or worse < bound or bound == 1
    assert bound > failures / (passes + failures) or not passes


def test_a_promise_is_kept_only_where_it_is_proven() -> None:
    assert promise(is_broken=True, is_proven=True) is Promise.BROKEN
    assert promise(is_broken=False, is_proven=True) is Promise.KEPT
    assert promise(is_broken=False, is_proven=False) is Promise.UNPROVEN
    assert promise(is_broken=False, is_proven=True, is_open=True) is Promise.UNPROVEN


def test_one_broken_run_breaks_the_fleets_promise_and_one_unproven_leaves_it_open() -> None:
    assert promise_of_all([Promise.KEPT, Promise.BROKEN, Promise.UNPROVEN]) is Promise.BROKEN
    assert promise_of_all([Promise.KEPT, Promise.UNPROVEN]) is Promise.UNPROVEN
    assert promise_of_all([Promise.KEPT]) is Promise.KEPT
    assert promise_of_all([]) is Promise.UNPROVEN


def run(job: str, proven_day: int | None, size: int | None = 10) -> Candidate:
    return Candidate(job, None if proven_day is None else proven_day * DAY, size)


def test_runs_without_a_proof_come_first_then_the_oldest_proof() -> None:
    runs = [run("fresh", 9), run("old", 2), run("never", None), run("older", 1)]
    plan = plan_tests(runs, now_us=10 * DAY, every_us=7 * DAY, bytes_per_run=None)
    assert (plan.tested, plan.left_out) == (("never", "older", "old"), ())


def test_what_does_not_fit_into_the_bandwidth_is_named_and_lets_smaller_ones_pass() -> None:
    runs = [run("a", None, 60), run("b", None, 50), run("c", None, 40)]
    plan = plan_tests(runs, now_us=0, every_us=DAY, bytes_per_run=100)
    assert plan.tested == ("a", "c")
    assert plan.left_out == (("b", "bandwidth: 50 bytes, 40 left of this run's"),)


def test_a_run_of_unknown_size_is_taken_alone_within_a_limit() -> None:
    runs = [run("a", None, None), run("b", None, 1)]
    assert plan_tests(runs, 0, DAY, bytes_per_run=100).tested == ("a",)
    assert plan_tests(runs, 0, DAY, bytes_per_run=None).tested == ("a", "b")


def test_what_cannot_be_reached_is_named_and_costs_nothing() -> None:
    runs = [Candidate("a", None, 90, "no location"), run("b", None, 90)]
    plan = plan_tests(runs, 0, DAY, bytes_per_run=100)
    assert (plan.tested, plan.left_out) == (("b",), (("a", "no location"),))


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 9), st.integers(1, 100)), max_size=20),
    st.integers(0, 300),
)
def test_every_due_run_is_either_tested_or_named_and_the_limit_holds(
    drawn: list[tuple[int | None, int]], limit: int
) -> None:
    runs = [run(str(place), day, size) for place, (day, size) in enumerate(drawn)]
    plan = plan_tests(runs, now_us=10 * DAY, every_us=5 * DAY, bytes_per_run=limit)
    due = {r.job for r in runs if r.proven_us is None or r.proven_us <= 5 * DAY}
    assert set(plan.tested) | {job for job, _ in plan.left_out} == due
    assert len(plan.tested) + len(plan.left_out) == len(due)
    assert sum(r.bytes or 0 for r in runs if r.job in plan.tested) <= limit
