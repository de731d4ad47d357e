"""What the installed GPUs did, as published: the capacity ledger over a span, and who used it.

A span is (from, to) in µs, whole UTC hours; amounts are GPU-µs, integers of any size.
"""

from typing import Any

from answers.mart import Mart
from metrics.capacity import Spent
from metrics.conventions import HOUR_US
from metrics.documents import closest
from metrics.errors import UsageError
from metrics.scope import Scope

Span = tuple[int, int]


def span(mart: Mart, as_of_us: int | None, hours: int | None) -> Span:
    """The hours up to the one that holds as_of (None: up to where the data reach).

    Without a number of hours all that there are before.
    """
    until_us = as_of_us if as_of_us is not None else mart.meta().as_of_us or 0
    until_us = -(-until_us // HOUR_US) * HOUR_US
    return (0 if hours is None else until_us - hours * HOUR_US), until_us


def cluster_of(mart: Mart, scope: Scope) -> str | None:
    """The cluster that a scope names, None for the fleet.

    Raises UsageError for any other scope, and for a cluster of which no node is known.
    """
    if set(scope.named()) - {"cluster"}:
        raise UsageError(f"--scope {scope}: capacity is that of the fleet or of cluster=NAME")
    if scope.cluster is not None:
        known = [row["cluster"] for row in mart.rows("select distinct cluster from capacity")]
        if scope.cluster not in known:
            hint = closest(scope.cluster, known)
            raise UsageError(f"--scope {scope}: no node state of that cluster is on record{hint}")
    return scope.cluster


def rows(mart: Mart, over: Span, cluster: str | None = None) -> list[dict[str, Any]]:
    """The ledger: `{hour_us, category, component, gpu_us}`. Each hour sums to what is installed."""
    return mart.rows(
        "select hour_us, category, component, sum(gpu_us)::hugeint as gpu_us from capacity"
        " where hour_us >= ? and hour_us < ? and (?::varchar is null or cluster = ?)"
        " group by all order by hour_us, category, component",
        [*over, cluster, cluster],
    )


def spent(ledger: list[dict[str, Any]]) -> Spent:
    """The ledger summed over its hours."""
    sums: dict[tuple[str, str], int] = {}
    for row in ledger:
        key = (row["category"], row["component"])
        sums[key] = sums.get(key, 0) + row["gpu_us"]
    return Spent(dict(sorted(sums.items())))


def tenants(mart: Mart, over: Span, cluster: str | None = None) -> list[dict[str, Any]]:
    """What each tenant's jobs held, and how much of it was useful, the most first.

    That is None where none of them told of a step.
    """
    return mart.rows(
        "select tenant, sum(gpu_us)::hugeint as gpu_us, coalesce(sum(gpu_us)"
        " filter ('useful' in (category, component)),"
        " case when not bool_or('uninstrumented' in (category, component)) then 0 end"
        ")::hugeint as useful_gpu_us from capacity"
        " where tenant is not null and hour_us >= ? and hour_us < ?"
        " and (?::varchar is null or cluster = ?) group by tenant order by gpu_us desc, tenant",
        [*over, cluster, cluster],
    )
