"""A scope's freeze, hour by hour, and the record of what was decided when.

The state is a function of the data and the policy, so replaying the same data decides the same.
The record in the journal is what was known then; late data change the replay, never the record.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from answers.budgets import Moment, Report, Series, all_series
from answers.facts import Facts
from answers.journal import Journal
from answers.moments import rfc3339
from metrics.budget import WINDOW_US, Budget, State, rolling
from metrics.conventions import HOUR_US
from metrics.freeze import Freeze, Hour, Reading, Standing, replay
from metrics.objectives import standing
from metrics.rulings import WRITER, Kind
from metrics.scope import Scope


@dataclass(frozen=True)
class Course:
    """A scope's closed hours, and the state after each."""

    scope: Scope
    hours: tuple[Hour, ...]
    states: tuple[Freeze, ...]

    @property
    def last(self) -> Freeze:
        """The state after the last closed hour; unknown where there is none."""
        return self.states[-1] if self.states else Freeze(Standing.UNKNOWN)

    @property
    def last_hour(self) -> Hour | None:
        """The last closed hour."""
        return self.hours[-1] if self.hours else None

    def changes(self) -> Iterator[tuple[Hour, Standing]]:
        """Each hour after which the state differs from the one before, and the state."""
        before = Standing.OPEN
        for hour, state in zip(self.hours, self.states, strict=True):
            if state.standing is not before:
                yield hour, state.standing
            before = state.standing


def course(facts: Facts, scope: Scope, as_of_us: int) -> Course:
    """Replay a scope from the first hour with data to the last one closed at `as_of_us`."""
    last_us = as_of_us // HOUR_US * HOUR_US
    return facts.keep(("course", scope, last_us), lambda: _replayed(facts, scope, last_us))


def _replayed(facts: Facts, scope: Scope, last_us: int) -> Course:
    first_us, through_us = facts.first_hour_us, facts.data_through_us
    if first_us is None or through_us is None or last_us < first_us + HOUR_US:
        return Course(scope, (), ())
    ends = range(first_us + HOUR_US, last_us + 1, HOUR_US)
    columns = [list(_readings(facts, series, ends)) for series in gating(facts, scope, last_us)]
    stale_us = through_us + facts.policy.stale_after_us
    hours = tuple(
        Hour(end_us, end_us > stale_us, tuple(readings))
        for end_us, *readings in zip(ends, *columns, strict=True)
    )
    return Course(scope, hours, tuple(replay(hours)))


def gating(facts: Facts, scope: Scope, end_us: int) -> list[Series]:
    """The series that may freeze a scope."""
    return [s for s in all_series(facts, scope, end_us) if s.slo in facts.policy.gating]


def _readings(facts: Facts, series: Series, ends: range) -> Iterator[Reading]:
    if series.measure == "checkpoint_durability":
        yield from _promise_readings(facts, series, ends)
        return
    level, scope = Fraction(facts.policy.thaw_remaining), str(series.scope)
    for amount in rolling(series.entries, ends[0], ends[-1]):
        yield Reading(
            series.slo,
            scope,
            series.state(amount),
            Budget(amount, series.target).has_left(level),
            required=series.measure == "goodput",
        )


def _promise_readings(facts: Facts, series: Series, ends: range) -> Iterator[Reading]:
    breaches = [b for b in facts.breaches if facts.in_scope(b.job, series.scope)]
    scope = str(series.scope)
    for end_us in ends:
        broken = bool(breaches and standing(breaches, end_us - WINDOW_US, end_us))
        state = State.EXHAUSTED if broken else State.WITHIN
        yield Reading(series.slo, scope, state, not broken)


def scopes(facts: Facts) -> list[Scope]:
    """Every scope whose freeze is recorded: the fleet, each of several clusters, each tier."""
    clusters = [Scope(cluster=name) for name in facts.clusters] if len(facts.clusters) > 1 else []
    return [Scope(), *clusters, *(Scope(tier=tier.name) for tier in facts.policy.tiers)]


def record(facts: Facts, journal: Journal, as_of_us: int) -> None:
    """Append every change of state since the last one on record, for every scope."""
    recorded = recorded_states(journal)
    for scope in scopes(facts):
        _record_scope(facts, journal, course(facts, scope, as_of_us), recorded.get(str(scope)))


def recorded_states(journal: Journal) -> dict[str, tuple[int, str]]:
    """By scope: the hour in µs and the state that were last recorded."""
    return {
        str(entry.scope): (entry.body["hour_us"], entry.body["state"])
        for entry in journal.entries()
        if entry.kind is Kind.DECISION
    }


def _record_scope(
    facts: Facts, journal: Journal, found: Course, recorded: tuple[int, str] | None
) -> None:
    after_us, state = recorded or (0, Standing.OPEN.value)
    for hour, standing_ in found.changes():
        if hour.end_us > after_us and standing_.value != state:
            _append(facts, journal, found.scope, hour, standing_)
            after_us, state = hour.end_us, standing_.value
    last = found.last_hour
    # Late data may have moved a change to an hour before the record's last one.
    if last and last.end_us > after_us and found.last.standing.value != state:
        _append(facts, journal, found.scope, last, found.last.standing)


def _append(facts: Facts, journal: Journal, scope: Scope, hour: Hour, standing_: Standing) -> None:
    moment = Moment.of(facts, hour.end_us)
    reports = [Report(facts, moment, series) for series in gating(facts, scope, hour.end_us)]
    body = {
        "state": standing_.value,
        "hour_us": hour.end_us,
        "data_through_us": facts.data_through_us,
        "budgets": [report.as_json() | {"spenders": spenders(report)} for report in reports],
    }
    why = _reason(hour, standing_)
    journal.append(Kind.DECISION, WRITER, why, scope, body)


def _reason(hour: Hour, standing_: Standing) -> str:
    if standing_ is Standing.UNKNOWN:
        return "data are stale" if hour.stale else "goodput is not known"
    if standing_ is Standing.OPEN:
        return "every gating budget is above the thaw level or does not gate"
    held = [f"{r.slo} of {r.scope}" for r in hour.readings if r.keeps_frozen]
    return ", ".join(held) or "frozen before it became unknown"


def spenders(report: Report, most: int = 3) -> list[dict[str, Any]]:
    """What spent most of a budget: for each dimension the first few, as amounts of its unit."""
    return [
        {"by": dimension, "name": name, "amount": spent}
        for dimension, found in report.spending().items()
        for name, spent in list(found.items())[:most]
        if name
    ]


def history(facts: Facts, journal: Journal, scope: Scope, as_of_us: int) -> dict[str, Any]:
    """What was decided then, beside what today's data would have decided."""
    then = [
        {
            "hour": rfc3339(entry.body["hour_us"]),
            "state": entry.body["state"],
            "why": entry.why,
            "decided_at": rfc3339(entry.at_us),
            "data_through": rfc3339(entry.body["data_through_us"]),
            "budgets": entry.body["budgets"],
        }
        for entry in journal.entries()
        if entry.kind is Kind.DECISION
        and entry.scope == scope
        and entry.body["hour_us"] <= as_of_us
    ]
    now = [
        {
            "hour": rfc3339(hour.end_us),
            "state": state.value,
            "why": _reason(hour, state),
        }
        for hour, state in course(facts, scope, as_of_us).changes()
    ]
    return {"scope": str(scope), "recorded": then, "now": now}
