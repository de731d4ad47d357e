"""Why a job waits: reasons that sum exactly, the present one in words, what may be expected."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import fleet
import harness
import pytest
import streams
from fleet import at
from hypothesis import given
from hypothesis import strategies as st

from answers import waits
from answers.facts import Facts
from metrics.errors import UsageError
from metrics.policy import Waits
from metrics.scope import Scope

HOUR_US = fleet.HOUR_US
Ask = Callable[[Facts], Any]
FEW = harness.POLICY.model_copy(update={"waits": Waits(comparable_jobs=3)})


@contextmanager
def told(
    *records: fleet.Record,
    steps: Sequence[fleet.Record] = (),
    policy: Any = harness.POLICY,
) -> Iterator[Facts]:
    """The facts of some records; the store's time ends at hour 10."""
    site = fleet.Fleet()
    site.lifecycle, site.steps = [*records, tick(10)], list(steps)
    with tempfile.TemporaryDirectory() as folder:
        home = site.publish(Path(folder), policy)
        with fleet.facts(home, policy) as facts:
            yield facts


def record(event: str, hours: float, job: str = "big", **fields: Any) -> fleet.Record:
    return {"event": event, "ts_us": at(hours), "job": job, **fields}


def tick(hours: float) -> fleet.Record:
    return record("node_state", hours, node="n", gpus=8, state="idle") | {"job": None}


def submitted(hours: float, job: str = "big", **fields: Any) -> fleet.Record:
    return record("job_submitted", hours, job, **({"tier": "standard", "gpus": 512} | fields))


def pending(hours: float, reason: str, job: str = "big", **fields: Any) -> fleet.Record:
    return record("job_pending", hours, job, reason=reason, **fields)


def reasons(answer: dict[str, Any]) -> dict[str, float]:
    return {row["reason"]: row["us"] / HOUR_US for row in answer["reasons"]}


def test_the_reasons_of_a_wait_are_those_recorded_and_time_before_any_is_unexplained() -> None:
    with told(submitted(0), pending(1, "quota"), pending(4, "power"), pending(6, "quota")) as facts:
        answer = waits.why(facts, "big")
    assert reasons(answer) == {"unexplained": 1, "quota": 3 + 4, "power": 2}
    assert answer["wait_us"] == 10 * HOUR_US
    assert answer["explained_us"] == 9 * HOUR_US
    assert answer["waiting"] is True


def test_what_follows_the_allocation_is_told_by_its_own_names() -> None:
    with told(
        submitted(0),
        pending(0, "gang_size"),
        record("resources_allocated", 2, attempt=0, gpus=512),
        record("interruption", 3, attempt=0, cause="hardware"),
        pending(4, "priority"),
        record("resources_allocated", 5, attempt=1, gpus=512),
        record("process_started", 7, attempt=1),
    ) as facts:
        answer = waits.why(facts, "big")
    # Between the interruption at 3 and the reason at 4 nothing says why it waits.
    assert reasons(answer) == {"gang_size": 2, "launch": 1 + 2, "unexplained": 1, "priority": 1}
    assert answer["waiting"] is False
    assert answer["now"] is None


def test_a_wait_that_ends_before_it_begins_is_unexplained_as_a_whole() -> None:
    with told(submitted(2), record("process_started", 1, attempt=0)) as facts:
        answer = waits.why(facts, "big")
    assert answer["wait_us"] == -HOUR_US
    assert answer["reasons"] == [{"reason": "unexplained", "us": -HOUR_US}]
    assert answer["explained_us"] == 0


@pytest.mark.parametrize("reason", ["quota", "power", "topology", "maintenance"])
def test_a_job_that_is_told_why_it_waits_when_it_is_stopped_waits_for_that(reason: str) -> None:
    began = [submitted(0), record("resources_allocated", 1, attempt=0)]
    stopped = record("interruption", 3, attempt=0, cause="hardware")
    with told(*began, stopped, pending(3, reason), steps=[fleet_step(2)]) as facts:
        (row,) = waits.Waiting(facts).rows
    assert (row["part"], row["reason"], row["cause"]) == ("pending", reason, "hardware")
    assert waits.BLOCKED[reason] in row["now"]


def fleet_step(hours: float) -> fleet.Record:
    return {"job": "big", "attempt": 0, "step": 1, "ts_us": at(hours), "duration_us": 60_000_000}


def test_a_job_that_was_never_submitted_has_an_unknown_wait() -> None:
    with told(record("resources_allocated", 1, attempt=0)) as facts:
        answer = waits.why(facts, "big")
    assert (answer["wait_us"], answer["explained_us"], answer["reasons"]) == (None, None, [])


def test_a_job_that_was_cancelled_in_the_queue_does_not_wait() -> None:
    with told(submitted(0), pending(0, "quota"), record("job_ended", 3, outcome="cancelled")) as f:
        answer = waits.why(f, "big")
    assert answer["waiting"] is False
    assert reasons(answer) == {"quota": 3}


def test_an_unknown_job_is_told_with_the_closest() -> None:
    with told(submitted(0)) as facts, pytest.raises(UsageError, match="did you mean big"):
        waits.why(facts, "bog")


@streams.tried
@given(st.integers(0, 10**9))
def test_the_reasons_of_any_stream_sum_exactly_to_its_waits(seed: int) -> None:
    lifecycle, steps = streams.random_stream(seed)
    site = fleet.Fleet()
    site.lifecycle, site.steps = lifecycle, steps
    with tempfile.TemporaryDirectory() as folder:
        home = site.publish(Path(folder))
        with fleet.facts(home) as facts:
            answers = [waits.why(facts, job) for job in facts.jobs]
            sums = waits.explained(facts, Scope(), 0, 2**62)
    known = [answer for answer in answers if answer["wait_us"] is not None]
    for answer in known:
        assert sum(row["us"] for row in answer["reasons"]) == answer["wait_us"]
        unexplained = [r["us"] for r in answer["reasons"] if r["reason"] == "unexplained"]
        assert answer["explained_us"] == answer["wait_us"] - sum(unexplained)
        if answer["wait_us"] >= 0:
            assert all(row["us"] > 0 for row in answer["reasons"])
            turns = answer["history"]
            assert all(a["end_us"] == b["start_us"] for a, b in pairwise(turns))
    whole = [answer for answer in known if answer["wait_us"] > 0]
    assert sums[0]["wait_us"] == sum(answer["wait_us"] for answer in whole)
    assert sums[0]["explained_us"] == sum(answer["explained_us"] for answer in whole)
    assert sum(row["wait_us"] for row in sums[1:]) == sums[0]["wait_us"]


# --- the present reason ---

GANG = [submitted(0), pending(0, "gang_size")]


@pytest.mark.parametrize(
    ("records", "now"),
    [
        (
            [
                *GANG,
                record("reservation_started", 5, gpus_gathered=128),
                record("reservation_updated", 9.2, gpus_gathered=400),
            ],
            "needs 512 GPUs at once; 400 are gathered since 09:12 UTC",
        ),
        (
            [
                *GANG,
                record("reservation_started", 5, gpus_gathered=128),
                record("reservation_ended", 6, gpus_gathered=128),
            ],
            "needs 512 GPUs at once; none are set aside for it, since 00:00 UTC",
        ),
        (
            [
                *GANG,
                record("reservation_started", 5, gpus_gathered=0),
                record("reservation_ended", 5, gpus_gathered=0),
            ],
            "needs 512 GPUs at once; none are set aside for it, since 00:00 UTC",
        ),
        (
            [submitted(0), pending(2, "user_hold", detail="until Monday")],
            "its owner holds it, since 02:00 UTC; the scheduler says “until Monday”",
        ),
        ([submitted(0)], "no reason is on record, since 00:00 UTC"),
        (
            [
                record("job_submitted", 0, tier="standard"),
                pending(0, "gang_size"),
            ],
            "needs all its GPUs at once; none are set aside for it, since 00:00 UTC",
        ),
    ],
    ids=[
        "gathering",
        "its reservation was given up",
        "begun and ended at once",
        "held",
        "no reason yet",
        "GPUs unknown",
    ],
)
def test_the_present_reason_is_a_sentence(records: list[fleet.Record], now: str) -> None:
    with told(*records) as facts:
        assert waits.why(facts, "big")["now"] == now


RAN = [submitted(0), record("resources_allocated", 1, attempt=0, gpus=512)]
RAN_STEP = {"job": "big", "attempt": 0, "step": 1, "ts_us": at(2), "duration_us": HOUR_US}


@pytest.mark.parametrize(
    ("records", "now"),
    [
        ([], None),
        (
            [record("interruption", 3, attempt=0, cause="hardware")],
            "waits again since 03:00 UTC: it was interrupted (hardware), and no reason is on"
            " record since",
        ),
        (
            [record("interruption", 3, attempt=0, cause="hardware"), pending(4, "quota")],
            "waits again since 03:00 UTC: its tenant's quota is used up, since 04:00 UTC",
        ),
        (
            [pending(4, "quota")],
            "waits again since 04:00 UTC: its tenant's quota is used up, since 04:00 UTC",
        ),
        (
            [
                record("interruption", 3, attempt=0, cause="hardware"),
                record("resources_allocated", 5, attempt=1),
            ],
            None,
        ),
        ([record("job_suspended", 3)], None),
    ],
    ids=[
        "it runs",
        "interrupted",
        "interrupted, and told why it waits",
        "told to wait without an interruption",
        "it has its GPUs again",
        "suspended by its owner",
    ],
)
def test_a_job_that_ran_may_wait_again(records: list[fleet.Record], now: str | None) -> None:
    with told(*RAN, *records, steps=[RAN_STEP]) as facts:
        answer = waits.why(facts, "big")
    assert answer["now"] == now
    assert answer["waiting"] is False
    assert answer["wait_us"] == 2 * HOUR_US


# --- the line, and what may be expected ---


def test_the_place_in_the_line_is_by_age_among_those_that_compete() -> None:
    with told(
        submitted(0, "old"),
        pending(0, "user_hold", "old"),
        submitted(1, "a"),
        submitted(2, "b"),
        submitted(0.5, "other", tier="batch"),
    ) as facts:
        rows = {row["job"]: (row["position"], row["of"]) for row in waits.Waiting(facts).rows}
    assert rows == {"old": (None, None), "a": (1, 2), "b": (2, 2), "other": (1, 1)}


def history(lengths: Sequence[float], tier: str = "standard") -> list[fleet.Record]:
    """Jobs of one GPU that waited so many hours each, one after the other."""
    records = []
    for number, hours in enumerate(lengths):
        name = f"{tier}-{number}"
        records += [
            submitted(-100, name, tier=tier, gpus=1),
            record("resources_allocated", hours - 100, name, attempt=0),
        ]
    return records


def expectation(facts: Facts) -> waits.Expectation:
    """What the job that waits may expect."""
    waiting = waits.Waiting(facts)
    row = waiting.of("big")
    assert row is not None
    return waiting.expectation(row)


def test_the_expectation_holds_given_that_the_job_has_waited_so_long() -> None:
    # It has waited 4 h (6 to 10). Of the others 1, 2, 3 h are behind it: 5, 6, 8, 20 remain, and
    # itself, which has not ended. Half of those four had ended by 6 h, 90 % by 20 h.
    with told(*history([1, 2, 3, 5, 6, 8, 20]), submitted(6, gpus=1), policy=FEW) as facts:
        expected = expectation(facts)
    assert expected.comparable == 4
    assert (expected.p50_us, expected.p90_us) == (6 * HOUR_US, 20 * HOUR_US)


@pytest.mark.parametrize(
    "others",
    [history([1, 2, 3, 5, 6]), history([5, 6, 8, 20], "batch"), []],
    ids=["two had waited as long", "those are of another tier", "there are none"],
)
def test_with_too_few_comparable_jobs_the_expectation_is_unknown(
    others: list[fleet.Record],
) -> None:
    with told(*others, submitted(6, gpus=1), policy=FEW) as facts:
        expected = expectation(facts)
    assert (expected.p50_us, expected.p90_us) == (None, None)


def test_jobs_of_another_size_are_not_comparable() -> None:
    with told(
        *history([5, 6, 8, 20]),
        submitted(6, gpus=512, expected_duration_us=100 * HOUR_US),
        policy=FEW,
    ) as facts:
        assert expectation(facts).comparable == 0


def test_a_job_that_waits_again_is_compared_with_restarts() -> None:
    # Three others restarted within 1, 2 and 3 h of an interruption; this one was stopped at 9:30.
    records = []
    for number, hours in enumerate([1, 2, 3]):
        name = f"other-{number}"
        records += [
            submitted(0, name, gpus=1),
            record("resources_allocated", 1, name, attempt=0),
            record("process_started", 1, name, attempt=0),
            record("interruption", 2, name, attempt=0, cause="hardware"),
            record("process_started", 2 + hours, name, attempt=1),
        ]
    with told(
        *records,
        submitted(0, gpus=1),
        record("process_started", 1, attempt=0),
        record("interruption", 9.5, attempt=0, cause="hardware"),
        policy=FEW,
    ) as facts:
        expected = expectation(facts)
    assert (expected.comparable, expected.p50_us) == (3, 2 * HOUR_US)


# --- gangs and the explained share ---


def test_the_oldest_waiting_gangs_come_first_with_what_is_gathered() -> None:
    with told(
        submitted(3, "young"),
        submitted(1, "old", gpus=64),
        submitted(0, "single", gpus=1),
        pending(1, "gang_size", "old"),
        record("reservation_started", 2, "old", gpus_gathered=16),
    ) as facts:
        found = [(row["job"], row["gathered_gpus"]) for row in waits.Waiting(facts).gangs()]
    assert found == [("old", 16), ("young", None)]


def test_the_share_of_waiting_that_is_explained_is_told_by_tier() -> None:
    with told(
        submitted(0, "a"),
        pending(4, "quota", "a"),
        submitted(5, "b", tier="batch"),
        pending(5, "power", "b"),
    ) as facts:
        rows = waits.explained(facts, Scope(), at(0), at(11))
    found = {row["tier"]: Fraction(row["explained_us"], row["wait_us"]) for row in rows}
    # a waited 10 h, 6 of them for quota; b 5 h, all for power.
    assert found == {None: Fraction(11, 15), "standard": Fraction(6, 10), "batch": Fraction(1)}


def test_without_any_wait_the_explained_share_is_unknown() -> None:
    with told(record("resources_allocated", 1, attempt=0)) as facts:
        (row,) = waits.explained(facts, Scope(), at(0), at(11))
    assert row == {"tier": None, "wait_us": 0, "explained_us": 0, "share": None}


def walked(hours: Sequence[float], first: int, attempt: int = 0) -> list[fleet.Record]:
    """Steps of 0.1 h of the job that end at those hours."""
    return [
        {
            "job": "big",
            "attempt": attempt,
            "step": first + n,
            "ts_us": at(hour),
            "duration_us": HOUR_US // 10,
        }
        for n, hour in enumerate(hours)
    ]


def test_a_loss_under_an_interval_that_is_too_long_is_told_with_the_number_of_the_planner() -> None:
    saves = [
        record(event, hours, attempt=0, step=step)
        for step, begun, ended in ((10, 1.0, 1.01), (20, 2.01, 2.02))
        for event, hours in (("checkpoint_started", begun), ("checkpoint_completed", ended))
    ]
    steps = [
        *walked([0.1 * n for n in range(1, 11)], 1),
        *walked([1.01 + 0.1 * n for n in range(1, 11)], 11),
        *walked([2.02 + 0.1 * n for n in range(1, 10)], 21),
        *walked([4 + 0.1 * n for n in range(1, 51)], 21, attempt=1),
    ]
    planning = harness.POLICY.planning.model_copy(update={"least_interruptions": 1})
    with told(
        submitted(0, gpus=8, checkpoint_interval_us=4 * HOUR_US),
        record("resources_allocated", 0, attempt=0),
        *saves,
        record("interruption", 3, attempt=0, cause="hardware"),
        record("resources_allocated", 3.5, attempt=1),
        record("job_ended", 9, outcome="completed"),
        steps=steps,
        policy=harness.POLICY.model_copy(update={"planning": planning}),
    ) as facts:
        (found,) = [r for r in waits.contracts(facts) if r["contract"] == "failure_loss"]
    # Nine steps of 6 min were lost: 54 min of at most 4 h. A save blocks 36 s, and the wall of 9 h
    # has one interruption: sqrt(2 × 36 × 32,400) = 1,527.4 s = 25.5 min.
    assert found["kept"] is True
    assert found["detail"] == (
        "lost 54 min of at most 4 h; its interval of 4.0 h is longer than the"
        " 25.5 min that its failures and the cost of its saves ask for"
    )
