"""What concerns the whole cluster: rollouts and planned windows."""

from typing import Any

from answers.mart import Mart


def rollouts(mart: Mart, from_us: int, to_us: int) -> list[dict[str, Any]]:
    """Changes that were let through between two moments, with what each was in words."""
    rows = mart.rows(
        "select id, change, scope, started_us, ended_us, coalesce(len(nodes), 0) as nodes"
        " from rollouts where started_us >= ? and started_us <= ? order by started_us",
        [from_us, to_us],
    )
    for row in rows:
        where = f", {row['nodes']} nodes" if row["nodes"] else ""
        row["what"] = f"{row['change']}{where} ({row['id']})"
    return rows


def planned(mart: Mart, after_us: int, job: str | None = None) -> list[dict[str, Any]]:
    """Announced windows that end after a moment, of all or those that touch a job."""
    rows = mart.rows(
        "select m.id, m.starts_us, m.ends_us, m.jobs, m.nodes, m.detail from maintenance m"
        " where m.is_planned and m.ended_us is null"
        "   and coalesce(m.ends_us, m.starts_us + 86400000000) > ?"
        "   and (?::varchar is null or list_contains(m.jobs, ?)"
        "     or (coalesce(len(m.jobs), 0) = 0 and coalesce(len(m.nodes), 0) = 0)"
        "     or exists (select 1 from (select arg_max(nodes, attempt) as held from attempts"
        "        where job = ?) where list_has_any(held, m.nodes)))"
        " order by m.starts_us, m.id",
        [after_us, job, job, job],
    )
    for row in rows:
        row["touches"] = _touches(row["jobs"], row["nodes"])
    return rows


def _touches(jobs: list[str] | None, nodes: list[str] | None) -> str:
    if jobs:
        return f"{len(jobs)} jobs: {', '.join(jobs[:3])}{' …' if len(jobs) > 3 else ''}"
    if nodes:
        return f"{len(nodes)} nodes: {', '.join(nodes[:3])}{' …' if len(nodes) > 3 else ''}"
    return "every job"


def samples(mart: Mart, from_us: int, to_us: int) -> list[dict[str, Any]]:
    """Each series that was pulled from Prometheus: its newest value in the span, mean, extremes."""
    return mart.rows(
        "select query, labels, max(ts_us) as at_us, arg_max(value, ts_us) as newest,"
        " avg(value) as mean, min(value) as lowest, max(value) as highest from samples"
        " where ts_us >= ? and ts_us < ? group by query, labels order by query, labels limit 200",
        [from_us, to_us],
    )
