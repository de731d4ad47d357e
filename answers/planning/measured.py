"""What a job's checkpoints cost, as measured, and the interval that follows for it.

The mean time between failures is the job's own once it failed often enough for that (policy), and
until then the fleet's: restarts of large instrumented jobs a GPU-hour, scaled by the job's GPUs.
Every cause counts, since each costs a restart and the work since the last save.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sql
from answers import questions
from answers.facts import Facts
from answers.wording import plural
from metrics.checkpointing import Costs, Estimate, mean_between
from metrics.conventions import HOUR_US, US_PER_S
from metrics.errors import UsageError
from metrics.scope import Scope


@dataclass(frozen=True)
class Failures:
    """How often a job fails, in seconds, and from how many restarts of whom that is known."""

    between_s: Estimate
    restarts: int
    of: str


@dataclass(frozen=True)
class Measured:
    """A job's own measurements, in seconds; None for what no record tells."""

    job: str
    gpus: int | None
    saves: int
    blocks_s: float | None
    write_s: float | None
    size: int | None
    step_s: float | None
    interval_s: float | None
    restart_s: float | None
    restart_of: str
    failures: Failures | None
    goodput: float | None

    @property
    def costs(self) -> Costs | None:
        """What the interval depends on; None where a part of it is not known."""
        if not self.blocks_s or self.restart_s is None or self.failures is None:
            return None
        if self.failures.restarts == 0:
            return None
        return Costs(self.blocks_s, self.failures.between_s.mean, self.restart_s)


Rows = dict[str, dict[str, Any]]


def measured(facts: Facts, job: str, gpus: int | None = None) -> Measured:
    """A job's measurements; `gpus` stands for those that its records name. Raises UsageError."""
    rows = _rows(facts)
    if job not in rows:
        questions.job(facts.mart, job)  # raises for a name that there is not
        raise UsageError(f"--job {job}: it has not run yet; plan it with numbers of your own")
    return _measured(facts, rows[job], _fleet(rows), gpus)


def advised(facts: Facts, scope: Scope, end_us: int) -> list[dict[str, Any]]:
    """Each large run of the window that ends then: its interval in force and the advised one.

    Rows of `job`, `interval_us`, `save_us` (what blocks the loop), `mtbf_us`, `mtbf_low_us`,
    `mtbf_high_us`, `mtbf_of` (own or fleet), `advised_us`, `flat_low_us`, `flat_high_us`, `within`
    (the interval lies among those as good as the advised one), `overhead`, `advised_overhead`
    (saving and work done again, shares of the wall-clock); null for what is not known.
    """
    return advice(facts, facts.large_runs(scope, end_us))


def advice(facts: Facts, names: Collection[str]) -> list[dict[str, Any]]:
    """The same of jobs that are named, in the order of names, as far as they have run."""
    rows = _rows(facts)
    fleet = _fleet(rows)
    return [
        _advised(facts, _measured(facts, rows[name], fleet))
        for name in sorted(names)
        if name in rows
    ]


def _advised(facts: Facts, found: Measured) -> dict[str, Any]:
    row = dict.fromkeys(_ADVISED) | {
        "job": found.job,
        "interval_us": _us(found.interval_s),
        "save_us": _us(found.blocks_s),
    }
    failures, costs = found.failures, found.costs
    if failures is not None and failures.restarts:
        row |= {
            "mtbf_us": _us(failures.between_s.mean),
            "mtbf_low_us": _us(failures.between_s.low),
            "mtbf_high_us": _us(failures.between_s.high),
            "mtbf_of": failures.of,
        }
    if costs is None:
        return row
    best_s = costs.best_interval_s
    low_s, high_s = costs.flat_region_s(float(facts.policy.planning.flat_points))
    row |= {"advised_us": _us(best_s), "flat_low_us": _us(low_s), "flat_high_us": _us(high_s)}
    row["advised_overhead"] = _besides_restarts(costs, best_s)
    if found.interval_s:
        row["within"] = low_s <= found.interval_s <= high_s
        row["overhead"] = _besides_restarts(costs, found.interval_s)
    return row


_ADVISED = (
    "job",
    "interval_us",
    "save_us",
    "mtbf_us",
    "mtbf_low_us",
    "mtbf_high_us",
    "mtbf_of",
    "advised_us",
    "flat_low_us",
    "flat_high_us",
    "within",
    "overhead",
    "advised_overhead",
)


def _besides_restarts(costs: Costs, interval_s: float) -> float:
    found = costs.overhead(interval_s)
    return found.save + found.lost_work


def _us(seconds: float | None) -> int | None:
    return None if seconds is None or seconds == float("inf") else round(seconds * US_PER_S)


def _rows(facts: Facts) -> Rows:
    return {row["job"]: row for row in facts.mart.rows(sql.read("facts/save_costs"))}


@dataclass(frozen=True)
class _Fleet:
    """Sums over large instrumented jobs: GPU-µs, restarts and their time down in µs."""

    gpu_us: int
    restarts: int
    down_us: int


def _fleet(rows: Rows) -> _Fleet:
    large = [row for row in rows.values() if row["large_us"] is not None and row["instrumented"]]
    return _Fleet(
        sum(row["wall_us"] * row["weight"] for row in large),
        sum(row["restarts"] for row in large),
        sum(row["down_us"] or 0 for row in large),
    )


def _measured(
    facts: Facts, row: dict[str, Any], fleet: _Fleet, gpus: int | None = None
) -> Measured:
    own = row["restarts"] > 0
    source = row["restarts"], row["down_us"]
    restarts, down_us = source if own else (fleet.restarts, fleet.down_us)
    has_saved = row["saves"] and row["blocked_us"]
    size = gpus or row["gpus"]
    return Measured(
        row["job"],
        size,
        row["saves"],
        row["blocked_us"] / row["saves"] / US_PER_S if has_saved else None,
        _seconds(row["write_us"]),
        row["bytes"],
        _seconds(row["step_us"]),
        _seconds(row["interval_us"]),
        down_us / restarts / US_PER_S if restarts else None,
        f"{plural(restarts, 'restart')} of {'its own' if own else 'the large jobs of the fleet'}",
        _failures(facts, row, fleet, size),
        row["useful_us"] / row["wall_us"] if row["instrumented"] else None,
    )


def _failures(
    facts: Facts, row: dict[str, Any], fleet: _Fleet, gpus: int | None
) -> Failures | None:
    planning = facts.policy.planning
    confidence = float(planning.confidence)
    own = row["restarts"] >= planning.least_interruptions
    if own or fleet.restarts <= row["restarts"]:
        wall_s = row["wall_us"] / US_PER_S
        return Failures(mean_between(wall_s, row["restarts"], confidence), row["restarts"], "own")
    if gpus is None:
        return None
    hours = mean_between(fleet.gpu_us / HOUR_US, fleet.restarts, confidence)
    return Failures(hours.scaled(HOUR_US / US_PER_S / gpus), fleet.restarts, "fleet")


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / US_PER_S
