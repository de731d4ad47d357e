"""Each contract: kept in a good stream, broken when one thing in it is, else unknown.

Seconds after a whole hour, as in the other tests of rules; `judge` publishes, reads the verdicts.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import harness
import pytest
from build import (
    BASE_US,
    SECOND_US,
    Record,
    allocated,
    at,
    ended,
    event,
    interrupted,
    loaded,
    saved,
    started,
    steps,
    submitted,
    tick,
    us,
)

from metrics.contracts import CONTRACTS

Verdicts = list[tuple[str | None, float | None, bool | None]]
"""(job, second, whether it was kept)"""
Judge = Callable[..., Verdicts]


@pytest.fixture
def judge(warehouse: duckdb.DuckDBPyConnection, tmp_path: Path) -> Judge:
    """What is judged of one contract in a stream."""

    def run(
        contract: str,
        lifecycle: Sequence[Record],
        taken: Sequence[Record] = (),
        shares: Mapping[str, int] | None = None,
    ) -> Verdicts:
        policy = harness.POLICY.model_copy(update={"shares": dict(shares or {})})
        harness.deliver(warehouse, tmp_path, list(lifecycle), list(taken))
        harness.rederive(warehouse)
        rows = harness.published(warehouse, "contracts", policy=policy)["contracts"]
        return [
            (row["job"], seconds(row["at_us"]), row["kept"])
            for row in rows
            if row["contract"] == contract
        ]

    return run


def seconds(at_us: int | None) -> float | None:
    return None if at_us is None else (at_us - BASE_US) / SECOND_US


def without(records: Sequence[Record], *names: str) -> list[Record]:
    return [record for record in records if record["event"] not in names]


def node(name: str, gpus: int, when: float = 0) -> Record:
    return event("node_state", when, None, node=name, gpus=gpus, state="idle")


# --- a gang starts with all its GPUs or not at all ---


@pytest.mark.parametrize(
    ("lifecycle", "verdict"),
    [
        ([submitted(0, gpus=16), allocated(5, gpus=16)], True),
        ([submitted(0, gpus=16), allocated(5, gpus=8)], False),
        ([submitted(0, gpus=16), allocated(5)], None),
        ([submitted(0), allocated(5, gpus=8)], None),
        ([node("a", 8), node("b", 8), submitted(0, gpus=16), allocated(5, nodes=["a", "b"])], True),
        (
            [node("a", 8), node("b", 4), submitted(0, gpus=16), allocated(5, nodes=["a", "b"])],
            False,
        ),
        ([node("a", 8), submitted(0, gpus=16), allocated(5, nodes=["a", "b"])], None),
    ],
    ids=[
        "all of them",
        "half of them",
        "the allocation does not say how many",
        "the submission does not say how many",
        "its nodes have them all",
        "one of its nodes is too small",
        "one of its nodes is unknown",
    ],
)
def test_a_gang_starts_with_all_its_gpus(
    judge: Judge, lifecycle: list[Record], verdict: bool | None
) -> None:
    assert judge("gang_start", lifecycle) == [("j", 5, verdict)]


def test_a_gang_that_came_in_two_parts_started_without_all_its_gpus(judge: Judge) -> None:
    found = judge(
        "gang_start", [submitted(0, gpus=16), allocated(5, gpus=8), allocated(9, gpus=16)]
    )
    assert found == [("j", 5, False), ("j", 9, True)]


def test_a_job_of_one_gpu_is_no_gang(judge: Judge) -> None:
    assert judge("gang_start", [submitted(0, gpus=1), allocated(5, gpus=1)]) == []


# --- data is staged before the process starts ---


@pytest.mark.parametrize(
    ("lifecycle", "verdict"),
    [
        ([event("data_staged", 8, attempt=0)], True),
        ([event("data_staged", 10, attempt=0)], True),
        ([event("data_staged", 12, attempt=0)], False),
        ([], None),
        ([event("data_staged", 8, attempt=1)], None),
    ],
    ids=["before", "at once", "after", "never told", "told of another attempt"],
)
def test_data_is_staged_first(judge: Judge, lifecycle: list[Record], verdict: bool | None) -> None:
    found = judge("staged_data", [submitted(0), allocated(5), started(10), *lifecycle])
    assert found == [("j", 10, verdict)]


# --- preemption ---

SAVED_UNTIL = 200
"""The second until which attempt 0 of the good stream saved all its steps."""


def preempted(**signal: Any) -> list[Record]:
    """Saves every 100 s; signalled at 250 with a window of 60 s, saves at 270, reclaimed at 310."""
    by_high = {"by_job": "high", "grace_us": us(60)} | signal
    return [
        submitted(0, tier="batch", gpus=8, checkpoint_interval_us=us(100)),
        event("job_submitted", 240, "high", tier="standard", gpus=8),
        allocated(0, gpus=8),
        loaded(5),
        saved(100, 10),
        saved(SAVED_UNTIL, 20),
        event("preemption_signal", 250, attempt=0, **by_high),
        saved(270, 25),
        interrupted(310, "preemption"),
        event("job_pending", 311, reason="priority"),
        allocated(400, 1, gpus=8),
        loaded(405, 1, after=25),
        ended(500),
    ]


def taken(last: int = 25, resumed_after: int = 25) -> list[Record]:
    """Steps of 10 s: attempt 0 to `last`, attempt 1 from the one after `resumed_after`."""
    return [
        *steps(0, 1, last),
        *steps(410, resumed_after + 1, resumed_after + 5, attempt=1),
    ]


PREEMPTION = [name for name in CONTRACTS if name.startswith("preemption")]


def verdicts(con: duckdb.DuckDBPyConnection) -> dict[str, bool | None]:
    """The verdict of each contract about preemption, where there is one."""
    rows = harness.published(con, "contracts")["contracts"]
    return {row["contract"]: row["kept"] for row in rows if "preemption" in row["contract"]}


def test_a_good_preemption_keeps_every_contract(
    judge: Judge, warehouse: duckdb.DuckDBPyConnection
) -> None:
    assert judge("tier_preemption", preempted(), taken()) == [("j", 250, True)]
    assert verdicts(warehouse) == dict.fromkeys(["tier_preemption", *PREEMPTION], True)


@pytest.mark.parametrize(
    "again",
    [
        [event("preemption_signal", 250, attempt=0, by_job="high", grace_us=us(60))],
        [event("preemption_signal", 250, attempt=0, grace_us=us(90))],
        [interrupted(310, "preemption"), interrupted(312, "preemption")],
        [event("job_submitted", 241, "high", tier="standard", gpus=8)],
        [submitted(1, tier="batch", gpus=8, checkpoint_interval_us=us(100))],
    ],
    ids=[
        "its signal came twice",
        "two records tell of its signal, one without for whom",
        "its reclaim was recorded by two",
        "the job that took its place was submitted twice",
        "the job that gave way was submitted twice",
    ],
)
def test_one_preemption_that_is_told_of_twice_has_one_verdict(
    judge: Judge, warehouse: duckdb.DuckDBPyConnection, again: list[Record]
) -> None:
    assert judge("tier_preemption", [*preempted(), *again], taken()) == [("j", 250, True)]
    rows = harness.published(warehouse, "contracts")["contracts"]
    told = [row["contract"] for row in rows if "preemption" in row["contract"]]
    assert sorted(told) == sorted(["tier_preemption", *PREEMPTION])


def test_without_a_signal_only_what_a_signal_would_tell_is_broken(
    judge: Judge, warehouse: duckdb.DuckDBPyConnection
) -> None:
    unsignalled = without(preempted(), "preemption_signal")
    assert judge("preemption_signal", unsignalled, taken()) == [("j", 310, False)]
    assert verdicts(warehouse) == {
        "preemption_signal": False,
        "preemption_requeue": True,
        "preemption_loss": True,
    }


def unsaved(reclaimed: float = 310) -> list[Record]:
    """Nothing was saved in the window: attempt 1 resumes after step 20 and does five again."""
    records = [r for r in preempted() if r["ts_us"] not in (at(270), at(310), at(405))]
    return [*records, interrupted(reclaimed, "preemption"), loaded(405, 1, after=20)]


def test_gpus_reclaimed_before_the_window_is_over_and_before_it_saved(judge: Judge) -> None:
    again = taken(resumed_after=20)
    assert judge("preemption_grace", unsaved(309.999999), again) == [("j", 309.999999, False)]


def test_gpus_may_be_reclaimed_at_the_end_of_the_window(judge: Judge) -> None:
    assert judge("preemption_grace", unsaved(310), taken(resumed_after=20)) == [("j", 310, True)]


def test_gpus_may_be_reclaimed_early_once_it_has_saved(judge: Judge) -> None:
    early = [*without(preempted(), "interruption"), interrupted(280, "preemption")]
    assert judge("preemption_grace", early, taken()) == [("j", 280, True)]


def test_a_window_in_which_nothing_was_saved_breaks_where_steps_were_done_again(
    judge: Judge,
) -> None:
    again = taken(resumed_after=20)
    assert judge("preemption_checkpoint", unsaved(), again) == [("j", 310, False)]


def test_a_window_in_which_there_was_nothing_to_save_is_kept(judge: Judge) -> None:
    records = [*unsaved(), saved(249, 25)]
    assert judge("preemption_checkpoint", records, taken()) == [("j", 310, True)]


def test_a_window_that_was_cut_short_says_nothing_about_saving(judge: Judge) -> None:
    again = taken(resumed_after=20)
    assert judge("preemption_checkpoint", unsaved(300), again) == [("j", 300, None)]


def test_an_attempt_that_made_no_step_had_nothing_to_save(judge: Judge) -> None:
    # Attempt 0 failed and loses steps 21 to 25; attempt 1 was preempted while it was starting.
    records = [
        *(r for r in preempted() if r["ts_us"] < at(250)),
        interrupted(251),
        allocated(260, 1, gpus=8),
        event("preemption_signal", 265, attempt=1, grace_us=us(60), by_job="high"),
        interrupted(325, "preemption", attempt=1),
        allocated(400, 2, gpus=8),
        loaded(405, 2, after=20),
        ended(500),
    ]
    again = [*steps(0, 1, 25), *steps(410, 21, 25, attempt=2)]
    assert judge("preemption_checkpoint", records, again) == [("j", 325, True)]


def test_what_a_later_failure_lost_was_not_for_the_preempted_attempt_to_save(judge: Judge) -> None:
    # Attempt 1 goes on from attempt 0's last step; attempt 2 goes back behind both.
    records = [*unsaved(), interrupted(460, "storage", 1), loaded(480, 2, after=20), ended(600)]
    taken_up = [*taken(), *steps(490, 21, 25, attempt=2)]
    assert judge("preemption_checkpoint", records, taken_up) == [("j", 310, True)]


@pytest.mark.parametrize(
    ("signal", "verdict"),
    [
        ({"by_job": "low"}, False),
        ({"by_job": "peer"}, False),
        ({"by_job": "high"}, True),
        ({"by_job": "nobody"}, None),
        ({"by_job": None}, None),
        ({"by_job": "odd"}, None),
    ],
    ids=[
        "a lower tier",
        "the same tier",
        "a higher tier",
        "no job on record",
        "not told",
        "no tier",
    ],
)
def test_only_a_higher_tier_preempts(
    judge: Judge, signal: dict[str, Any], verdict: bool | None
) -> None:
    # The job itself is standard here: interactive ranks above it, batch below.
    others = [
        event("job_submitted", 1, name, tier=tier)
        for name, tier in (("low", "batch"), ("peer", "standard"), ("odd", "elsewhere"))
    ]
    records = [r | ({"tier": "interactive"} if r.get("job") == "high" else {})
               if r["event"] == "job_submitted" else r for r in preempted(**signal)]  # fmt: skip
    records = [r | {"tier": "standard"} if r is records[0] else r for r in records]
    assert judge("tier_preemption", [*others, *records], taken()) == [("j", 250, verdict)]


def test_a_loan_is_called_back_by_whoever_the_gpus_are_reserved_for(judge: Judge) -> None:
    # Both are batch: no preemption by rank, but the GPUs were gathered for the other.
    other = event("job_submitted", 1, "gang", tier="batch", gpus=64)
    loan = event("backfill_started", 0, "j", for_job="gang", gpus=8, preemptible=True)
    found = judge("tier_preemption", [other, loan, *preempted(by_job="gang")], taken())
    assert found == [("j", 250, True)]


@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        ([event("job_pending", 311, reason="priority")], True),
        ([allocated(311, 1)], True),
        ([event("job_submitted", 311, tier="batch"), allocated(400, 1)], False),
        ([ended(320, "failed")], False),
        ([ended(320, "cancelled")], None),
        ([], None),
    ],
    ids=["it is told to wait", "it starts again", "submitted by hand", "failed", "cancelled",
         "nothing yet"],
)  # fmt: skip
def test_a_preempted_job_is_requeued_by_itself(
    judge: Judge, then: list[Record], verdict: bool | None
) -> None:
    stopped = [r for r in preempted() if r["ts_us"] <= at(310)]
    found = judge("preemption_requeue", [*stopped, *then, tick(600)], steps(0, 1, 25))
    assert found == [("j", 310, verdict)]


@pytest.mark.parametrize(("resumed_after", "verdict"), [(15, True), (14, False), (25, True)])
def test_a_preemption_loses_at_most_an_interval(
    judge: Judge, resumed_after: int, verdict: bool
) -> None:
    # 25 steps of 10 s, an interval of 100 s: resuming after step 15 does 10 again, after 14, 11.
    found = judge("preemption_loss", preempted(), taken(resumed_after=resumed_after))
    assert found == [("j", 310, verdict)]


def test_scheduler_records_tell_of_no_signal_and_so_break_none(
    warehouse: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    columns = "JobID|JobName|User|Account|QOS|Partition|State|Submit|Start|End|AllocTRES|NodeList"
    rows = [
        "7|a|u|t|batch|gpu|PREEMPTED|2026-03-02T00:00:00|2026-03-02T00:01:00|2026-03-02T00:09:00",
        "7|a|u|t|batch|gpu|COMPLETED|2026-03-02T00:09:01|2026-03-02T00:20:00|2026-03-02T00:30:00",
    ]
    path = tmp_path / "sacct.psv"
    path.write_text("\n".join([columns, *(f"{row}|gres/gpu=8|n1" for row in rows)]) + "\n")
    harness.ingest_one(warehouse, path, "slurm")
    harness.rederive(warehouse)
    assert verdicts(warehouse) == {
        "preemption_signal": None,
        "preemption_requeue": True,
        "preemption_loss": None,
    }


# --- one failure loses at most one checkpoint interval ---


def failed(saves: Sequence[Record], after: int, cause: str = "hardware") -> list[Record]:
    """A failure at 300; steps of 10 s, an interval of 100 s; resumes after step `after`."""
    return [
        submitted(0, checkpoint_interval_us=us(100)),
        allocated(0),
        loaded(5),
        *saves,
        interrupted(300, cause),
        allocated(350, 1),
        loaded(360, 1, after=after),
        ended(900),
    ]


def resumed(after: int) -> list[Record]:
    return [*steps(0, 1, 29), *steps(400, after + 1, 40, attempt=1)]


def detail(warehouse: duckdb.DuckDBPyConnection, contract: str) -> str:
    (row,) = (
        row
        for row in harness.published(warehouse, "contracts")["contracts"]
        if row["contract"] == contract
    )
    return str(row["detail"])


GOOD = [saved(100, 10), saved(200, 20)]


@pytest.mark.parametrize(
    ("saves", "after", "verdict", "why"),
    [
        (GOOD, 20, True, "lost 1 min 30 s of at most 1 min 40 s"),
        (GOOD[:1], 10, False, "checkpoints are missing: the newest was 3 min 20 s old"),
        (GOOD, 10, False, "step 20 was saved but it resumed from step 10"),
        ([], 0, False, "no checkpoint was ever completed"),
    ],
    ids=["saved in time", "a save is missing", "the newest was not restored", "never saved"],
)
def test_one_failure_loses_at_most_an_interval(
    judge: Judge,
    warehouse: duckdb.DuckDBPyConnection,
    saves: list[Record],
    after: int,
    verdict: bool,
    why: str,
) -> None:
    assert judge("failure_loss", failed(saves, after), resumed(after)) == [("j", 300, verdict)]
    assert why in detail(warehouse, "failure_loss")


@pytest.mark.parametrize("cause", ["maintenance", "preemption"])
def test_what_is_planned_is_no_failure(judge: Judge, cause: str) -> None:
    assert judge("failure_loss", failed(GOOD, 10, cause), resumed(10)) == []


@pytest.mark.parametrize(
    ("lifecycle", "taken"),
    [
        ([r for r in failed(GOOD, 20) if r["ts_us"] <= at(300)], steps(0, 1, 29)),
        ([r | {"checkpoint_interval_us": None} for r in failed(GOOD[:1], 10)], resumed(10)),
        (failed(GOOD, 20), []),
    ],
    ids=["not resumed yet", "no interval is known", "no step records"],
)
def test_a_loss_that_cannot_be_judged_is_unknown(
    judge: Judge, lifecycle: list[Record], taken: list[Record]
) -> None:
    assert judge("failure_loss", lifecycle, taken) == [("j", 300, None)]


# --- loans of reserved GPUs ---


def lent(returned: float | None, recalled: bool = True, **loan: Any) -> list[Record]:
    """Lent at 10; called back at 100 with a window of 60 s; the policy allows 60 s more."""
    told = {"for_job": "gang", "gpus": 8, "preemptible": True} | loan
    records = [
        event("job_submitted", 0, "gang", tier="standard", gpus=64),
        submitted(0, tier=told.pop("tier", "batch"), gpus=8),
        allocated(10, gpus=8),
        event("backfill_started", 10, **told),
        tick(1000),
    ]
    if recalled:
        signal = {"grace_us": us(60), "by_job": "gang"}
        records.append(event("preemption_signal", 100, attempt=0, **signal))
    if returned is not None:
        records.append(event("backfill_ended", returned, **told))
    return records


@pytest.mark.parametrize(
    ("lifecycle", "verdict"),
    [
        (lent(220), True),
        (lent(220.000001), False),
        (lent(None), False),
        (lent(500, recalled=False), True),
        (lent(None, recalled=False), None),
        (lent(150, preemptible=False), False),
        (lent(150, tier="standard"), False),
    ],
    ids=[
        "left when its window and the slack were over",
        "left a microsecond later",
        "never left",
        "left by itself",
        "still lent",
        "told not to be preemptible",
        "of a tier that is not preemptible",
    ],
)
def test_reserved_gpus_are_lent_to_preemptible_work_that_leaves_on_time(
    judge: Judge, lifecycle: list[Record], verdict: bool | None
) -> None:
    assert judge("backfill_loan", lifecycle) == [("j", 10, verdict)]


def test_a_loan_that_follows_another_at_once_is_a_loan_of_its_own(judge: Judge) -> None:
    # Interrupted at 50, and lent the same GPUs again at that moment; called back at 100.
    more = [
        interrupted(50),
        event("backfill_ended", 50, for_job="gang", gpus=8, preemptible=True),
        allocated(50, 1, gpus=8),
        event("backfill_started", 50, for_job="gang", gpus=8, preemptible=True),
    ]
    assert judge("backfill_loan", [*lent(221), *more]) == [("j", 10, True), ("j", 50, False)]


def test_a_loan_may_end_at_the_moment_at_which_it_began(judge: Judge) -> None:
    assert judge("backfill_loan", lent(10, recalled=False)) == [("j", 10, True)]


def test_who_was_lent_gpus_twice_is_called_back_and_not_preempted(judge: Judge) -> None:
    more = [
        event("backfill_ended", 50, for_job="gang", gpus=8, preemptible=True),
        event("backfill_started", 50, for_job="gang", gpus=8, preemptible=True),
        event("job_submitted", 0, "gang", tier="batch", gpus=64),
    ]
    records = [r for r in lent(150) if r["job"] != "gang"]
    assert judge("tier_preemption", [*records, *more]) == [("j", 100, True)]


# --- guaranteed shares ---

SHARES = {"a": 16, "b": 16}


def job(name: str, tenant: str, gpus: int, when: float, tier: str = "standard") -> Record:
    return event("job_submitted", when, name, tier=tier, tenant=tenant, gpus=gpus)


def gets(name: str, when: float, *nodes: str) -> Record:
    return event("resources_allocated", when, name, attempt=0, nodes=list(nodes))


def waits(name: str, when: float, reason: str = "quota") -> Record:
    return event("job_pending", when, name, reason=reason)


FULL = [job("b1", "b", 16, 0), gets("b1", 0, "n1", "n2")]
"""Tenant b holds all that it is guaranteed."""
FULL_OF_A = [job("a0", "a", 16, 10), gets("a0", 10, "n7", "n8")]
SMALL_OF_A = [job("a0", "a", 4, 10), gets("a0", 10, "p")]


@pytest.mark.parametrize(
    ("lifecycle", "verdict"),
    [
        ([], True),
        ([job("a1", "a", 8, 50), waits("a1", 50)], False),
        ([job("a1", "a", 8, 50), waits("a1", 50, "user_hold")], True),
        ([job("a1", "a", 8, 50), waits("a1", 50, "topology")], True),
        ([job("a1", "a", 16, 50), waits("a1", 50)], True),
        ([*FULL_OF_A, job("a1", "a", 8, 50), waits("a1", 50)], True),
        ([job("a1", "a", 8, 50, "batch"), waits("a1", 50)], True),
        ([job("a1", "a", 8, 50), waits("a1", 50), gets("a1", 90, "n9")], True),
        ([job("a1", "a", 8, 50), waits("a1", 50), gets("a1", 150, "n9")], False),
        ([job("a1", "a", 8, 50), waits("a1", 50), gets("a1", 150, *"pqrs")], True),
        ([*SMALL_OF_A, job("a1", "a", 8, 50), waits("a1", 50)], None),
    ],
    ids=[
        "nobody waits",
        "a job within its guarantee waits",
        "its owner holds it",
        "it waits for a place",
        "it needs more than was given away",
        "its own tenant has all of its guarantee",
        "it is preemptible work",
        "it got its GPUs before",
        "it got its GPUs later, of the same kind of node",
        "it needs another kind of node",
        "there are two kinds of nodes, and it never ran",
    ],
)  # fmt: skip
def test_a_tenant_gets_its_share_before_others_borrow(
    judge: Judge, lifecycle: list[Record], verdict: bool | None
) -> None:
    # At 100 tenant b gets 8 GPUs of one node more than it is guaranteed.
    borrows = [job("b2", "b", 8, 60), gets("b2", 100, "n3")]
    found = judge("guaranteed_share", [*FULL, *borrows, *lifecycle, tick(200)], shares=SHARES)
    assert found == [("b2", 100, verdict)]


BORROWS = [job("b2", "b", 8, 60), gets("b2", 100, "n3"), tick(200)]


@pytest.mark.parametrize("reason", ["gang_size", "priority"])
def test_who_is_told_another_reason_at_that_moment_still_waits(judge: Judge, reason: str) -> None:
    waiting = [job("a1", "a", 8, 50), waits("a1", 50), waits("a1", 100, reason)]
    found = judge("guaranteed_share", [*FULL, *BORROWS, *waiting], shares=SHARES)
    assert found == [("b2", 100, False)]


def test_who_is_held_by_its_owner_at_that_moment_no_longer_competes(judge: Judge) -> None:
    waiting = [job("a1", "a", 8, 50), waits("a1", 50), waits("a1", 100, "user_hold")]
    found = judge("guaranteed_share", [*FULL, *BORROWS, *waiting], shares=SHARES)
    assert found == [("b2", 100, True)]


@pytest.mark.parametrize("rival", [f"a{i}" for i in range(8)])
def test_who_got_gpus_at_the_moment_it_was_told_to_wait_does_not_wait(
    judge: Judge, rival: str
) -> None:
    served = [job(rival, "a", 8, 50), waits(rival, 50), gets(rival, 50, "n9")]
    found = judge("guaranteed_share", [*FULL, *BORROWS, *served], shares=SHARES)
    assert found == [("b2", 100, True)]


def test_a_job_that_runs_on_after_a_suspension_held_its_gang_through_it(
    judge: Judge, warehouse: duckdb.DuckDBPyConnection
) -> None:
    # Suspended from 100 to 200; it stops at 300 without a record, and is told to wait.
    records = [
        submitted(0, gpus=8),
        allocated(0, gpus=8),
        event("job_suspended", 100),
        event("job_resumed", 200),
        event("job_pending", 300, reason="quota"),
        tick(400),
    ]
    judge("guaranteed_share", records, [*steps(0, 1, 10), *steps(200, 11, 20)])
    assert held(warehouse) == [("j", 0, 300)]


def state_of_n2(when: float, state: str) -> Record:
    return event("node_state", when, None, node="n2", gpus=4, state=state)


@pytest.mark.parametrize(
    ("states", "until"),
    [
        ([state_of_n2(0, "allocated")], 400),
        ([state_of_n2(0, "allocated"), state_of_n2(100, "idle")], 100),
        ([state_of_n2(0, "allocated"), state_of_n2(300, "gang_reserved")], 300),
        ([state_of_n2(0, "idle"), state_of_n2(0, "allocated")], 400),
        ([state_of_n2(0, "allocated"), state_of_n2(0, "spare_for_restart")], 400),
        ([state_of_n2(0, "idle")], 100),
        ([], 100),
    ],
    ids=[
        "its node stays",
        "free at once",
        "free later",
        "handed over",
        "handed over by a spare",
        "free all the time",
        "nobody knows",
    ],
)
def test_a_suspension_that_lasts_is_held_while_its_nodes_are_not_free(
    judge: Judge, warehouse: duckdb.DuckDBPyConnection, states: list[Record], until: float
) -> None:
    records = [
        *(submitted(0, gpus=8), allocated(0, nodes=["n[1-2]"])),
        *(event("job_suspended", 100), *states, tick(400)),
    ]
    judge("guaranteed_share", records, steps(0, 1, 10))
    assert held(warehouse) == [("j", 0, until)]


def held(con: duckdb.DuckDBPyConnection) -> list[tuple[str, float | None, float | None]]:
    rows = harness.published(con, "holds")["holds"]
    return [(row["job"], seconds(row["start_us"]), seconds(row["end_us"])) for row in rows]


@pytest.mark.parametrize("gave_back", [interrupted, ended], ids=["interrupted", "ended"])
def test_what_was_given_back_is_not_held(judge: Judge, gave_back: Callable[..., Record]) -> None:
    stops = gave_back(90) | {"job": "b1"}
    borrows = [job("b2", "b", 8, 60), gets("b2", 100, "n3")]
    assert judge("guaranteed_share", [*FULL, stops, *borrows], shares=SHARES) == []


def test_preemptible_work_does_not_borrow(judge: Judge) -> None:
    lends = [job("b2", "b", 8, 60, "batch"), gets("b2", 100, "n3")]
    assert judge("guaranteed_share", [*FULL, *lends], shares=SHARES) == []


def test_without_shares_in_the_policy_nothing_is_judged(judge: Judge) -> None:
    assert judge("guaranteed_share", FULL) == [(None, None, None)]


@pytest.mark.parametrize("by_job", ["high", "odd", "gang", "nobody"])
def test_no_account_of_a_verdict_begins_with_a_name(
    warehouse: duckdb.DuckDBPyConnection, tmp_path: Path, by_job: str
) -> None:
    # Pages begin a sentence with it, with a capital letter: that would be another name.
    others = [
        event("job_submitted", 0, "gang", tier="batch", gpus=64),
        event("job_submitted", 0, "odd", tier="elsewhere", gpus=64),
        event("backfill_started", 0, "j", for_job="gang", gpus=8, preemptible=True),
    ]
    records = [*FULL, *BORROWS, *others, *preempted(by_job=by_job)]
    policy = harness.POLICY.model_copy(update={"shares": SHARES})
    harness.deliver(warehouse, tmp_path, records, taken())
    harness.rederive(warehouse)
    rows = harness.published(warehouse, "contracts", policy=policy)["contracts"]
    told = {row["contract"]: row["detail"] for row in rows}
    assert {"tier_preemption", "guaranteed_share", "backfill_loan"} <= told.keys()
    names = {"j", "b", "b1", "b2", by_job}
    assert [detail for detail in told.values() if detail.split()[0] in names] == []
