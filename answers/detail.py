"""What is listed beside budgets: restarts, waits, a job's losses, holes in records.

Apart from `answers.facts` because no budget and no decision depends on it.
"""

from typing import Any

from answers.facts import DIMENSIONS, Facts, charged, matches, weighted
from metrics.scope import Scope


def restart_rows(facts: Facts, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """Restarts of large jobs detected in the span, newest first, with causes as re-attributed.

    `again_us` is the work that each had done again, `node` the one that its interruption named.
    """
    where, params = matches(scope, "j")
    return facts.mart.rows(
        "with lost as (select job, detected_us, any_value(node) as node, coalesce(sum(us)"
        "   filter (component = 'rework'), 0)::bigint as again_us"
        "   from restart_losses group by job, detected_us)"
        " select r.* replace (coalesce(a.cause, r.cause) as cause), l.node, j.weight,"
        "   coalesce(l.again_us, 0) as again_us"
        " from restarts r join scoped_jobs j using (job)"
        " left join lost l using (job, detected_us)"
        " left join reattributions a using (job, detected_us)"
        f" where {where} and j.large_us is not null"
        "   and r.detected_us >= ? and r.detected_us < ?"
        " order by r.detected_us desc, r.job",
        [*params, start_us, end_us],
    )


def wait_rows(facts: Facts, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """Queue waits that ended, or went on, in the span, in µs; by tier, oldest first.

    `counted_us` is the wait without what its owner asked for (user_hold, dependency).
    """
    where, params = matches(scope, "j")
    return facts.mart.rows(
        "with held as (select job, sum(end_us - start_us)::bigint as us from wait_holds"
        "   group by job)"
        " select q.job, j.tier, q.submitted_us, q.wait_us, q.censored, q.basis, j.gpus, j.tenant,"
        "   j.state, q.wait_us - coalesce(h.us, 0) as counted_us"
        " from queue_waits q join scoped_jobs j using (job) left join held h using (job)"
        f" where {where} and q.submitted_us + q.wait_us >= ? and q.submitted_us < ?"
        " order by j.tier, q.submitted_us, q.job",
        [*params, start_us, end_us],
    )


def wait_reasons(facts: Facts, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """What those waits were spent on by tier, part and reason: jobs and µs, the most first."""
    where, params = matches(scope, "j")
    return facts.mart.rows(
        "select j.tier, p.part, p.reason, count(distinct job) as jobs, sum(p.us)::hugeint as us"
        " from wait_parts p join queue_waits q using (job) join scoped_jobs j using (job)"
        f" where {where} and q.submitted_us + q.wait_us >= ? and q.submitted_us < ?"
        " group by all order by us desc, j.tier, p.part, p.reason",
        [*params, start_us, end_us],
    )


def uninstrumented_jobs(
    facts: Facts, scope: Scope, start_us: int, end_us: int
) -> list[dict[str, Any]]:
    """Jobs without step records and their GPU-µs in the span, the most first."""
    where, params = matches(scope, "j")
    rows = facts.mart.rows(
        "select job, j.tenant, j.tier, sum(us::hugeint * weight) as gpu_us"
        f" from ledger join scoped_jobs j using (job) where {where} and not j.instrumented"
        " and hour_us >= ? and hour_us < ? group by all order by gpu_us desc, job",
        [*params, start_us, end_us],
    )
    return [row | {"gpu_us": int(row["gpu_us"])} for row in rows]


def weighted_wall(facts: Facts, job: str, start_us: int, end_us: int) -> int:
    """A job's wall-clock in the span, in GPU-µs."""
    (row,) = facts.mart.rows(
        "select coalesce(sum(us::hugeint * weight), 0) as gpu_us"
        " from ledger join scoped_jobs using (job)"
        " where job = ? and hour_us >= ? and hour_us < ?",
        [job, start_us, end_us],
    )
    return int(row["gpu_us"])


def checkpoints(facts: Facts) -> list[dict[str, Any]]:
    """By job: checkpoints saved and failed, restore tests, the newest of each in µs."""
    return facts.mart.rows("from checkpoints")


def losses_of(facts: Facts, job: str) -> list[dict[str, Any]]:
    """What a job lost over its whole wall-clock, in µs, with re-attributions in force.

    Exclusions take time out of budgets, not out of what happened: they are left in.
    """
    return facts.mart.rows(
        "with recorded as ("
        "  select category, component, cause, us from ledger where job = ?"
        "  union all select l.category, l.component, l.cause, -l.us from restart_losses l"
        "    semi join reattributions using (job, detected_us) where l.job = ?"
        "  union all select r.category, l.component, r.cause, l.us from restart_losses l"
        "    join reattributions r using (job, detected_us) where l.job = ?)"
        " select category, component, cause, sum(us)::bigint as us from recorded"
        " where category <> 'useful' group by all having sum(us) <> 0 order by us desc",
        [job, job, job],
    )


def spent_by(
    facts: Facts, dimension: str, scope: Scope, start_us: int, end_us: int, only: dict[str, str]
) -> list[dict[str, Any]]:
    """The charged loss by one of DIMENSIONS, the most first, of what has the values of `only`.

    `again` is the part of it that is work done again. Raises ValueError for no dimension.
    """
    if not {dimension, *only} <= set(DIMENSIONS):
        raise ValueError(f"{dimension}, {only}: no dimensions of spending")
    where, params = matches(scope)
    narrowed = "".join(f" and {key} = ?" for key in only)
    found = facts.mart.rows(
        f"select {dimension} as name, {weighted(scope)} as lost,"
        f" coalesce({weighted(scope)} filter (component = 'rework'), 0) as again"
        f" from {charged(dimension, *only)}"
        f" where {where} and charge = 'platform'{narrowed} and known_us <= ?"
        " and hour_us >= ? and hour_us < ? group by all having lost > 0"
        " order by lost desc, name",
        [*params, *only.values(), end_us, start_us, end_us],
    )
    return [row | {"lost": int(row["lost"]), "again": int(row["again"])} for row in found]
