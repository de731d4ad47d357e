"""Large runs and their checkpoints."""

from dataclasses import dataclass
from typing import Any

from answers import detail
from answers.durability import Durability, Run, durability
from answers.facts import Facts
from answers.planning.measured import advised
from metrics.budget import window_end_us
from metrics.scope import Scope


@dataclass(frozen=True)
class Saved:
    """A run's proof beside what it saved; times in µs, None where nothing is on record."""

    run: Run
    failed: int
    newest_us: int | None
    interval_us: int | None
    measured_us: int | None
    advised_us: int | None
    """The interval that its own costs and failures ask for (see metrics.checkpointing)."""
    is_well_chosen: bool | None
    """Whether the interval in force costs hardly more than the advised one."""


def checkpoints(facts: Facts, scope: Scope, as_of_us: int) -> tuple[Durability, list[Saved]]:
    """The promise of a scope, and each large run of the window, least proven first."""
    found = durability(facts, scope, as_of_us)
    known = {row["job"]: row for row in detail.checkpoints(facts)}
    measured = _measured(facts, as_of_us)
    advice = {row["job"]: row for row in advised(facts, scope, window_end_us(as_of_us))}
    return found, [
        Saved(
            run,
            known.get(run.job, {}).get("failed", 0),
            known.get(run.job, {}).get("newest_us"),
            facts.jobs[run.job]["checkpoint_interval_us"],
            measured.get(run.job),
            advice.get(run.job, {}).get("advised_us"),
            advice.get(run.job, {}).get("within"),
        )
        for run in found.runs
    ]


def _measured(facts: Facts, as_of_us: int) -> dict[str, int]:
    """The lower median of the times between completed checkpoints within attempts, by job."""
    rows = facts.mart.rows(
        "select job, quantile_disc(gap_us, 0.5) as us from ("
        "  select job, ts_us - lag(ts_us) over (partition by job, attempt order by ts_us) as gap_us"
        "  from saved_checkpoints where ts_us <= ?)"
        " where gap_us is not null group by job",
        [as_of_us],
    )
    return {row["job"]: row["us"] for row in rows}


def restore_tests(facts: Facts, scope: Scope, as_of_us: int) -> list[dict[str, Any]]:
    """Verdicts of the scope up to a moment, the newest first."""
    found = [
        test
        for test in facts.restore_tests
        if test["ts_us"] <= as_of_us and facts.in_scope(test["job"], scope)
    ]
    return found[::-1]
