"""Every objective's budget for a scope at a moment, with its history, spending and forecasts."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from answers.durability import Durability, durability
from answers.facts import Facts
from answers.moments import rfc3339
from metrics.budget import (
    PRESENT_BURN,
    WINDOW_US,
    Amount,
    Budget,
    Entry,
    State,
    Thaw,
    Unit,
    alerts,
    amount,
    burn_rates,
    cost_of_restart,
    exhaustion_us,
    is_over_cautious,
    rolling,
    state_of,
    thaw,
    window_end_us,
)
from metrics.conventions import HOUR_US, US_PER_S
from metrics.documents import closest
from metrics.errors import HeadwayError, UsageError
from metrics.objectives import Event, entries_of, standing
from metrics.openslo import Slo
from metrics.scope import Scope


@dataclass(frozen=True)
class Moment:
    """A moment judged: its window's end, how far the data reach, whether they are too old."""

    as_of_us: int
    data_through_us: int | None
    stale: bool

    @classmethod
    def of(cls, facts: Facts, as_of_us: int) -> "Moment":
        """What is known at `as_of_us` from these facts."""
        through_us = facts.data_through_us
        if through_us is None:
            return cls(as_of_us, None, True)
        through_us = min(through_us, as_of_us)
        return cls(as_of_us, through_us, as_of_us - through_us > facts.policy.stale_after_us)

    @property
    def end_us(self) -> int:
        """The end of its window."""
        return window_end_us(self.as_of_us)

    @property
    def start_us(self) -> int:
        """The beginning of its window."""
        return self.end_us - WINDOW_US


@dataclass(frozen=True)
class Series:
    """What an objective counts for a scope: hourly entries against a target."""

    slo: str
    measure: str
    scope: Scope
    unit: Unit
    target: Fraction
    entries: tuple[Entry, ...]
    minimum: int
    weight: int = 1
    """What a unit of the total weighs against the minimum: a job's µs weigh its GPUs."""

    def state(self, total: Amount, stale: bool = False) -> State:
        """The state of an amount of this series."""
        budget = Budget(total, self.target)
        return state_of(budget, self.minimum, total.total * self.weight, stale)


@dataclass(frozen=True)
class Report:
    """One objective's budget for a scope at a moment."""

    facts: Facts
    moment: Moment
    series: Series

    @cached_property
    def budget(self) -> Budget:
        """The window's budget."""
        return Budget(amount(self.series.entries, self.moment.end_us), self.series.target)

    @cached_property
    def state(self) -> State:
        """The window's state."""
        return self.series.state(self.budget.amount, self.moment.stale)

    @cached_property
    def burn(self) -> dict[str, Fraction | None]:
        """Burn rates by span."""
        return burn_rates(self.series.entries, self.series.target, self.moment.end_us)

    @cached_property
    def before(self) -> Budget:
        """The budget of the window before this one, for comparison."""
        return Budget(amount(self.series.entries, self.moment.start_us), self.series.target)

    @cached_property
    def history(self) -> list[tuple[int, Budget]]:
        """The budget at every whole hour of the window, in order."""
        start_us, end_us = self.moment.start_us + HOUR_US, self.moment.end_us
        amounts = rolling(self.series.entries, start_us, end_us)
        return [
            (start_us + place * HOUR_US, Budget(found, self.series.target))
            for place, found in enumerate(amounts)
        ]

    @property
    def exhausted_us(self) -> int | None:
        """When it was exhausted, or else will be at the present burn; None where it will not."""
        if self.moment.stale:
            return None
        if self.budget.is_exhausted:
            return self._exhausted_since_us()
        return exhaustion_us(self.budget, self.burn[PRESENT_BURN], self.moment.as_of_us)

    def _exhausted_since_us(self) -> int:
        since_us = self.moment.end_us
        for end_us, budget in reversed(self.history):
            if not budget.is_exhausted:
                break
            since_us = end_us
        return since_us

    @cached_property
    def thaw(self) -> Thaw | None:
        """When the thaw level is reached again if nothing more is lost; None where it is kept."""
        return self._thaw(Fraction(0))

    @cached_property
    def thaw_at_present_burn(self) -> Thaw | None:
        """The same, were the present burn to go on."""
        return self._thaw(self.burn[PRESENT_BURN] or Fraction(0))

    def _thaw(self, burn: Fraction) -> Thaw | None:
        level = Fraction(self.facts.policy.thaw_remaining)
        if self.moment.stale or self.budget.has_left(level):
            return None
        entries, target = self.series.entries, self.series.target
        return thaw(entries, target, self.moment.end_us, level, burn)

    @property
    def is_over_cautious(self) -> bool:
        """Whether hardly any of it was spent over a whole window: shipping too slowly."""
        first_us = self.facts.first_hour_us
        covers = first_us is not None and first_us <= self.moment.start_us
        spent = Fraction(self.facts.policy.over_cautious_spent)
        return self.state is State.WITHIN and is_over_cautious(self.budget, covers, spent)

    @cached_property
    def coverage(self) -> float | None:
        """The instrumented share of the scope's GPU time in the window, for reading."""
        return self.facts.coverage(
            self.series.scope, self.moment.start_us, self.moment.end_us
        ).share

    def spending(self) -> dict[str, dict[str, int]]:
        """What spent the budget in the window, by dimension, the most first."""
        start_us, end_us, scope = self.moment.start_us, self.moment.end_us, self.series.scope
        if self.series.measure == "goodput":
            return self.facts.goodput_spending(scope, start_us, end_us)
        events = events_of(self.facts, self.series.measure, scope, end_us)
        return self.facts.event_spending(events, start_us, end_us)

    def as_json(self) -> dict[str, Any]:
        """The budget as `headway budget --format json` prints it."""
        budget = self.budget
        return {
            "slo": self.series.slo,
            "scope": str(self.series.scope),
            "unit": self.series.unit.value,
            "state": self.state.value,
            "total": budget.amount.total,
            "bad": budget.amount.bad,
            "allowed": budget.allowed,
            "remaining": budget.remaining,
            "remaining_ratio": _number(budget.remaining_share),
            "burn": {span: _number(rate) for span, rate in self.burn.items()},
            "exhausted_at": rfc3339(self.exhausted_us),
            "thaw_at": rfc3339(self.thaw.at_us) if self.thaw else None,
            "as_of": rfc3339(self.moment.as_of_us),
            "data_through": rfc3339(self.moment.data_through_us),
            "coverage": self.coverage,
        }

    def detail(self) -> dict[str, Any]:
        """What `--detail` adds."""
        return {
            "before": _amounts(self.before),
            "spending": self.spending(),
            "history": [
                {"at": rfc3339(at_us), "state": self.series.state(budget.amount).value}
                | _amounts(budget)
                for at_us, budget in self.history
            ],
            "alerts": self._alerts(),
            "over_cautious": self.is_over_cautious,
            "forecasts": self._forecasts(),
            "adjustments": self._adjustments(),
            "goodput": self.goodput() if self.series.measure == "goodput" else None,
            "durability": found.as_json() if (found := self.durability()) else None,
        }

    def durability(self) -> Durability | None:
        """What proves the promise; None for another objective."""
        if self.series.measure != "checkpoint_durability":
            return None
        return durability(self.facts, self.series.scope, self.moment.as_of_us)

    def _alerts(self) -> list[dict[str, Any]]:
        if self.moment.stale:
            return []
        windows = self.facts.policy.alerts
        found = alerts(self.series.entries, self.series.target, self.moment.end_us, windows)
        return [
            {
                "severity": alert.window.severity,
                "long_h": alert.window.long_h,
                "short_h": alert.window.short_h,
                "factor": float(alert.window.factor),
                "burn_long": float(alert.long),
                "burn_short": float(alert.short),
            }
            for alert in found
        ]

    def _forecasts(self) -> dict[str, Any]:
        assumed = "the window's wall-clock goes on at its rate, nothing leaves the window"
        return {
            "exhausted": {
                "at": rfc3339(self.exhausted_us),
                "burn_span": PRESENT_BURN,
                "assumes": assumed,
            },
            "thaw_if_nothing_more_is_lost": self._thawing(self.thaw),
            "thaw_at_present_burn": self._thawing(self.thaw_at_present_burn),
        }

    def _thawing(self, found: Thaw | None) -> dict[str, Any] | None:
        if found is None:
            return None
        unit = self.series.unit.value
        coming = f"{float(found.hourly_total):.6g} {unit} in each coming hour, as in the last day"
        return {"at": rfc3339(found.at_us), "assumes": coming}

    def _adjustments(self) -> dict[str, int]:
        adjustments = self.facts.adjustments
        return {
            "exclusions": len(adjustments.exclusions),
            "reattributions": len(adjustments.reattributions),
        }

    def goodput(self) -> dict[str, Any]:
        """Whole goodput beside the platform's share: the researcher's and the budget's number."""
        scope, start_us, end_us = self.series.scope, self.moment.start_us, self.moment.end_us
        total = self.budget.amount.total
        lost = self.facts.whole_loss(scope, start_us, end_us)
        own = [
            Budget(Amount(row["total"], row["bad"]), self.series.target)
            for row in self.facts.within_own_budget(scope, start_us, end_us)
        ]
        between_us = self.facts.between_interruptions(scope, start_us, end_us)
        minute = cost_of_restart(between_us, 60 * US_PER_S) if between_us else None
        return {
            "lost": lost,
            "charged": self.budget.amount.bad,
            "goodput": _number(1 - Fraction(lost, total)) if total else None,
            "platform_goodput": _number(1 - Fraction(self.budget.amount.bad, total))
            if total
            else None,
            "jobs": len(own),
            "jobs_within": sum(not budget.is_exhausted for budget in own),
            "between_interruptions_us": between_us,
            "cost_of_a_restart_minute": _number(minute),
        }


def reports(facts: Facts, scope: Scope, as_of_us: int, slo: str | None = None) -> list[Report]:
    """The budgets of a scope, of one objective or of all that apply, in the file's order.

    Raises UsageError for an objective, a tier, a cluster, a tenant or a job that is not there.
    """
    check_scope(facts, scope)
    names = facts.policy.objective_names
    if slo is not None and slo not in names:
        raise UsageError(f"--slo {slo}: no such objective{closest(slo, names)}")
    moment = Moment.of(facts, as_of_us)
    found = [Report(facts, moment, series) for series in all_series(facts, scope, moment.end_us)]
    return [report for report in found if slo in (None, report.series.slo)]


MOST_NAMED = 8
"""Of more names than these only the closest is told."""


def check_scope(facts: Facts, scope: Scope) -> None:
    """Raise UsageError where the scope names something that is not there."""
    known = {
        "cluster": facts.clusters,
        "tier": sorted(
            {tier.name for tier in facts.policy.tiers} | {j["tier"] for j in facts.jobs.values()}
        ),
        "tenant": sorted({job["tenant"] for job in facts.jobs.values()}),
        "job": sorted(facts.jobs),
    }
    for key, value in scope.named().items():
        if value not in known[key]:
            raise UsageError(
                f"--scope {key}={value}: no such {key} among {_some(known[key])}"
                f"{closest(value, known[key])}"
            )


def _some(names: list[str]) -> str:
    return ", ".join(names) if 0 < len(names) <= MOST_NAMED else f"{len(names):,}"


def check_written(facts: AbstractContextManager[tuple[Facts, Any]], scope: Scope) -> None:
    """`check_scope` for what is about to be written of a scope.

    Where no numbers can be read there is nothing to compare with: a hand must act even then.
    """
    try:
        with facts as (found, _):
            check_scope(found, scope)
    except UsageError:
        raise
    except HeadwayError:
        return


def all_series(facts: Facts, scope: Scope, end_us: int) -> Iterator[Series]:
    """Every series that applies to a scope: queue waits by tier, promises last."""
    for slo in facts.policy.objectives:
        measure = str(slo.sources[0].spec["measure"])
        if measure == "queue_wait":
            yield from _waits_by_tier(facts, slo, scope, end_us)
        elif not (scope.job and not _is_large(facts, scope.job)) or measure == "short_job_success":
            yield _series(facts, slo, measure, scope, end_us)
    for promise in facts.policy.promises:
        if not (scope.job and not _is_large(facts, scope.job)):
            yield _promised(facts, promise.name, scope, end_us)


def _is_large(facts: Facts, job: str) -> bool:
    return facts.jobs[job]["large_us"] is not None


def _series(facts: Facts, slo: Slo, measure: str, scope: Scope, end_us: int) -> Series:
    target = slo.spec.objectives[0].share
    minimum = facts.policy.minimum
    if measure == "goodput":
        entries = tuple(facts.entries_of_goodput(scope))
        unit = Unit.US if scope.job else Unit.GPU_US
        weight = facts.jobs[scope.job]["weight"] if scope.job else 1
        return Series(
            slo.metadata.name, measure, scope, unit, target, entries, minimum.gpu_us, weight
        )
    events = [event for event, _ in events_of(facts, measure, scope, end_us)]
    entries = tuple(entries_of(events))
    return Series(slo.metadata.name, measure, scope, Unit.COUNT, target, entries, minimum.events)


def _waits_by_tier(facts: Facts, slo: Slo, scope: Scope, end_us: int) -> Iterator[Series]:
    if scope.job:
        yield _series(facts, slo, "queue_wait", scope, end_us)
        return
    for tier in facts.policy.tiers:
        if tier.queue_limit_us is not None and scope.tier in (None, tier.name):
            yield _series(facts, slo, "queue_wait", scope.of_tier(tier.name), end_us)


def _promised(facts: Facts, name: str, scope: Scope, end_us: int) -> Series:
    """A promise: large runs of the window that ends then; a breach counts in the hour it came."""
    start_us = end_us - WINDOW_US
    runs = facts.large_runs(scope, end_us)
    found = [b for b in facts.breaches if facts.in_scope(b.job, scope)]
    broken = {b.job: b.at_us for b in reversed(found) if start_us <= b.at_us < end_us}
    entries = [Entry(at_us // HOUR_US * HOUR_US, 1, 1) for at_us in broken.values()]
    entries.append(Entry(end_us - HOUR_US, len(runs - set(broken)), 0))
    return Series(name, "checkpoint_durability", scope, Unit.COUNT, Fraction(1), tuple(entries), 0)


def events_of(facts: Facts, measure: str, scope: Scope, end_us: int) -> list[tuple[Event, str]]:
    """The events that a measure counts for a scope, with their causes (empty: none)."""
    if measure == "time_to_restart":
        events = facts.restarts
    elif measure == "queue_wait":
        events = [(event, "") for event in facts.waits]
    elif measure == "short_job_success":
        events = [(event, facts.jobs[event.job]["last_cause"] or "") for event in facts.short_jobs]
    else:
        start_us = end_us - WINDOW_US
        broken = standing(facts.breaches, start_us, end_us)
        events = [(Event(b.job, b.at_us, True), "storage") for b in broken]
    return [(event, cause) for event, cause in events if facts.in_scope(event.job, scope)]


def _amounts(budget: Budget) -> dict[str, int]:
    return {
        "total": budget.amount.total,
        "bad": budget.amount.bad,
        "allowed": budget.allowed,
        "remaining": budget.remaining,
    }


def _number(share: Fraction | None) -> float | None:
    return None if share is None else float(share)
