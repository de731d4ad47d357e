"""What the installed GPUs did in a span, for the page and the review."""

from dataclasses import dataclass
from typing import Any

from answers import capacity as ledger
from answers import shares as fair
from answers.capacity import Span
from answers.facts import Facts
from app.charts.area import Bin
from metrics.capacity import Spent, group_of
from metrics.conventions import HOUR_US
from metrics.scope import Scope

BINS = 130
"""About so many stretches are drawn."""


@dataclass(frozen=True)
class Capacity:
    """A span of the capacity ledger: its sums, its course over time, and what tenants held."""

    spent: Spent
    bins: tuple[Bin, ...]
    tenants: dict[str, Spent]


def capacity(facts: Facts, scope: Scope, start_us: int, end_us: int) -> Capacity:
    """The span's capacity; of the fleet unless the scope names a cluster."""
    over, cluster = (start_us, end_us), scope.cluster
    rows = ledger.rows(facts.mart, over, cluster)
    return Capacity(
        ledger.spent(rows),
        tuple(_bins(rows, over, facts.data_through_us or 0)),
        ledger.tenants(facts.mart, over, cluster),
    )


def _bins(rows: list[dict[str, Any]], over: Span, through_us: int) -> list[Bin]:
    """Stretches of equal length; the first begins where the record does, the last ends there."""
    step_us = -(-(over[1] - over[0]) // (BINS * HOUR_US)) * HOUR_US
    sums: dict[int, dict[str, int]] = {}
    for row in rows:
        bin_us = over[0] + (row["hour_us"] - over[0]) // step_us * step_us
        groups = sums.setdefault(bin_us, {})
        group = group_of(row["category"], row["component"])
        groups[group] = groups.get(group, 0) + row["gpu_us"]
    return [
        Bin(max(start_us, rows[0]["hour_us"]), min(start_us + step_us, over[1], through_us), groups)
        for start_us, groups in sorted(sums.items())
    ]


def shares(facts: Facts, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """Fair share in the span by tenant."""
    return fair.summed(fair.rows(facts.mart, facts.policy, (start_us, end_us)))


def share_days(facts: Facts, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """Fair share in the span by day and tenant."""
    days: dict[int, list[dict[str, Any]]] = {}
    for row in fair.rows(facts.mart, facts.policy, (start_us, end_us)):
        days.setdefault(row["hour_us"] // (24 * HOUR_US) * 24 * HOUR_US, []).append(row)
    return [
        {"day_us": day_us} | row
        for day_us, rows in sorted(days.items())
        for row in fair.summed(rows)
    ]
