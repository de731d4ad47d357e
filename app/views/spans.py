"""Restarts and queue waits of a scope in a window: their spread, trend, and what they went to."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from answers import detail
from answers.budgets import Moment
from answers.facts import APART_CAUSES, Facts
from metrics.conventions import HOUR_US
from metrics.scope import Scope
from metrics.survival import Span, longest_us, quantile_us, within

WEEK_US = 7 * 24 * HOUR_US
MONDAY_US = 4 * 24 * HOUR_US
"""The first Monday after 1970-01-01, a Thursday, in µs."""

QUANTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Spread:
    """A group of spans in µs: how many, how many have not ended, quantiles (None: not reached)."""

    label: str
    spans: tuple[Span, ...]
    limit_us: int | None
    in_policy: bool = True
    """Whether the policy has a tier of that name."""

    @property
    def count(self) -> int:
        """How many."""
        return len(self.spans)

    @property
    def waiting(self) -> int:
        """How many have not ended, or were given up."""
        return sum(span.censored for span in self.spans)

    @property
    def over(self) -> int:
        """How many reached the limit."""
        limit_us = self.limit_us
        return sum(limit_us is not None and span.age_us >= limit_us for span in self.spans)

    @property
    def within(self) -> float | None:
        """The share that ended under the limit, of those of which it is known."""
        kept = None if self.limit_us is None else within(self.spans, self.limit_us)
        return None if kept is None else float(kept)

    @property
    def longest_us(self) -> int | None:
        """The longest age."""
        return longest_us(self.spans)

    def quantile_us(self, percent: int) -> int | None:
        """The Kaplan–Meier quantile."""
        return quantile_us(self.spans, Fraction(percent, 100)) if self.spans else None

    @property
    def censored_us(self) -> list[int]:
        """Ages at which spans had not ended."""
        return [span.age_us for span in self.spans if span.censored]


def window(facts: Facts, as_of_us: int, days: int = 30) -> tuple[int, int]:
    """The whole hours of so many days that end with a moment's, (from, to) in µs."""
    end_us = Moment.of(facts, as_of_us).end_us
    return end_us - days * 24 * HOUR_US, end_us


def restarts(facts: Facts, scope: Scope, as_of_us: int, days: int = 30) -> list[dict[str, Any]]:
    """Restarts of large jobs in the window, newest first, but those of the job's own doing."""
    rows = detail.restart_rows(facts, scope, *window(facts, as_of_us, days))
    return [row for row in rows if row["cause"] not in APART_CAUSES]


def spread_of(rows: Iterable[dict[str, Any]], label: str, limit_us: int | None) -> Spread:
    """Restarts as a spread."""
    spans = tuple(Span(row["age_us"], row["outcome"] != "recovered") for row in rows)
    return Spread(label, spans, limit_us)


def grouped(rows: Sequence[dict[str, Any]], key: str, limit_us: int) -> list[Spread]:
    """Restarts by a column, those over the limit first."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row[key] is not None:
            groups[row[key]].append(row)
    found = [spread_of(group, name, limit_us) for name, group in groups.items()]
    return sorted(found, key=lambda s: (-s.over, -s.count, s.label))


def week_of(us: int) -> int:
    """The Monday 00:00 UTC before a moment, in µs."""
    return (us - MONDAY_US) // WEEK_US * WEEK_US + MONDAY_US


def by_week(
    rows: Sequence[tuple[int, Span]], percents: Sequence[int] = (50, 90)
) -> dict[int, list[tuple[int, int | None]]]:
    """Quantiles by week of the moment that each span is dated at."""
    weeks: dict[int, list[Span]] = defaultdict(list)
    for at_us, span in rows:
        weeks[week_of(at_us)].append(span)
    return {
        percent: [
            (week, quantile_us(spans, Fraction(percent, 100)))
            for week, spans in sorted(weeks.items())
        ]
        for percent in percents
    }


def waits(facts: Facts, scope: Scope, as_of_us: int, days: int = 30) -> list[dict[str, Any]]:
    """Queue waits in the window."""
    return detail.wait_rows(facts, scope, *window(facts, as_of_us, days))


def reasons(facts: Facts, scope: Scope, as_of_us: int, days: int = 30) -> list[dict[str, Any]]:
    """What waits in the window were spent on."""
    return detail.wait_reasons(facts, scope, *window(facts, as_of_us, days))


def by_tier(facts: Facts, scope: Scope, as_of_us: int, days: int = 30) -> list[Spread]:
    """Waits by tier, in the policy's order."""
    groups: dict[str, list[Span]] = defaultdict(list)
    for row in waits(facts, scope, as_of_us, days):
        groups[row["tier"]].append(Span(max(row["counted_us"], 0), row["censored"]))
    ranks = {tier.name: -tier.rank for tier in facts.policy.tiers}
    found = []
    for name in sorted(groups, key=lambda name: (ranks.get(name, 1), name)):
        tier = facts.policy.tier(name)
        limit_us = tier.queue_limit_us if tier else None
        found.append(Spread(name, tuple(groups[name]), limit_us, tier is not None))
    return found
