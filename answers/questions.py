"""The questions that the command line answers, each from the published mart, as plain data.

Times are integer microseconds, shares are floats for reading only; null stands for what is not
known. The shapes are the JSON of `--format json`.
"""

import difflib
from fractions import Fraction
from typing import Any

from answers.mart import Mart
from metrics.errors import UsageError
from metrics.policy import Policy
from metrics.survival import Span, longest_us, quantile_us, within

QUANTILES = {
    "p50_us": Fraction(50, 100),
    "p90_us": Fraction(90, 100),
    "p95_us": Fraction(95, 100),
    "p99_us": Fraction(99, 100),
}

RESTART_COMPONENTS = ("detect", "requeue", "launch", "load", "first_step")


def share(part: int | Fraction | None, whole: int | None) -> float | None:
    """part / whole as a float; None where either is unknown or the whole is nothing."""
    return None if part is None or not whole else float(Fraction(part) / whole)


def job(mart: Mart, name: str) -> dict[str, Any]:
    """One job: its wall-clock, goodput (null when not instrumented) and what it lost to what.

    Raises UsageError for a job that is not there, with the names closest to it.
    """
    facts = _job_facts(mart, name)
    loss = mart.rows(
        "select category, component, cause, sum(us)::hugeint as us from ledger"
        " where job = ? and category <> 'useful' group by all"
        " order by us desc, category, component, cause",
        [name],
    )
    wall_us, useful_us = facts["wall_us"], facts["useful_us"]
    gap_us = None if wall_us is None else wall_us - useful_us
    lost_us = sum(row["us"] for row in loss)
    return {
        "job": name,
        "tier": facts["tier"],
        "tenant": facts["tenant"],
        "gpus": facts["gpus"],
        "state": facts["state"],
        "instrumented": facts["instrumented"],
        "as_of_us": mart.meta().as_of_us,
        "wall_us": wall_us,
        "useful_us": useful_us,
        "goodput": share(useful_us, wall_us) if facts["instrumented"] else None,
        "gap_us": gap_us,
        "residual_us": None if gap_us is None else gap_us - lost_us,
        "loss": loss,
    }


def jobs(mart: Mart) -> list[dict[str, Any]]:
    """Every job that has a wall-clock, the longest first; `loss` in µs by category, most first."""
    lost: dict[str, dict[str, int]] = {}
    for row in mart.rows(
        "select job, category, sum(us)::hugeint as us from ledger where category <> 'useful'"
        " group by all order by us desc, category"
    ):
        lost.setdefault(row["job"], {})[row["category"]] = row["us"]
    found = mart.rows(
        "select job, name, tier, tenant, gpus, state, instrumented, wall_us, useful_us from jobs"
        " where wall_us is not null order by wall_us desc, job"
    )
    for row in found:
        known = row["instrumented"]
        row["goodput"] = share(row["useful_us"], row["wall_us"]) if known else None
        row["loss"] = lost.get(row["job"], {})
    return found


def ledger(mart: Mart, name: str | None) -> list[dict[str, Any]]:
    """The ledger's rows, of one job or of all. Raises UsageError for a job that is not there."""
    if name is not None:
        _job_facts(mart, name)
    return mart.rows(
        "select job, hour_us, category, component, cause, us from ledger"
        " where job = coalesce(?, job) order by all",
        [name],
    )


def restarts(mart: Mart, name: str | None) -> list[dict[str, Any]]:
    """Restarts in order of detection, of one job or of all. Raises UsageError as `ledger`."""
    if name is not None:
        _job_facts(mart, name)
    found = mart.rows(
        "select * from restarts where job = coalesce(?, job) order by detected_us, job", [name]
    )
    return [
        {
            "job": row["job"],
            "detected_us": row["detected_us"],
            "recovered_us": row["recovered_us"],
            "cause": row["cause"],
            "outcome": row["outcome"],
            "basis": row["basis"],
            "attempts_used": row["attempts_used"],
            "interruptions": row["interruptions"],
            "lost_steps": row["lost_steps"],
            "time_to_restart_us": row["time_to_restart_us"],
            "components": {part: row[f"{part}_us"] for part in RESTART_COMPONENTS},
        }
        for row in found
    ]


def restart_times(mart: Mart, policy: Policy, name: str | None = None) -> dict[str, Any]:
    """Times to restart in µs: how many, quantiles (null where not reached), the longest age.

    `within` is the share that recovered within the policy's limit, of those of which it is known.
    """
    rows = mart.rows(
        "select age_us, outcome <> 'recovered' as censored from restarts"
        " where job = coalesce(?, job)",
        [name],
    )
    spans = [Span(row["age_us"], row["censored"]) for row in rows]
    kept = within(spans, policy.restart_limit_us)
    return {
        "restarts": len(spans),
        "censored": sum(span.censored for span in spans),
        **{name: quantile_us(spans, p) for name, p in QUANTILES.items()},
        "max_us": longest_us(spans),
        "within": None if kept is None else float(kept),
    }


def queue(mart: Mart, policy: Policy) -> dict[str, dict[str, Any]]:
    """Queue waits by tier, the policy's tiers first. A quantile that is not reached is null."""
    spans: dict[str, list[Span]] = {}
    for row in mart.rows("select tier, wait_us, censored from queue_waits"):
        spans.setdefault(row["tier"] or "unknown", []).append(Span(row["wait_us"], row["censored"]))
    ranks = {tier.name: -tier.rank for tier in policy.tiers}
    ordered = sorted(spans, key=lambda tier: (ranks.get(tier, 1), tier))
    return {tier: _waits(spans[tier], policy, tier) for tier in ordered}


def _waits(spans: list[Span], policy: Policy, tier_name: str) -> dict[str, Any]:
    tier = policy.tier(tier_name)
    target_us = tier.queue_limit_us if tier else None
    kept = None if target_us is None else within(spans, target_us)
    return {
        "jobs": len(spans),
        "censored": sum(span.censored for span in spans),
        **{name: quantile_us(spans, p) for name, p in QUANTILES.items()},
        "max_us": longest_us(spans),
        "target_us": target_us,
        "within_target": None if kept is None else float(kept),
    }


def quality(mart: Mart) -> dict[str, Any]:
    """How far the records can be trusted: coverage, quarantine by reason, findings by kind."""
    (covered,) = mart.rows(
        "select coalesce(sum(wall_us::hugeint * coalesce(gpus, 1)), 0) as gpu_us,"
        " coalesce(sum(wall_us::hugeint * coalesce(gpus, 1)) filter (instrumented), 0)"
        " as instrumented_gpu_us from jobs"
    )
    return {
        "as_of_us": mart.meta().as_of_us,
        "coverage": covered | {"share": share(covered["instrumented_gpu_us"], covered["gpu_us"])},
        "quarantine": mart.rows(
            "select reason, records, example, place.path as example_path,"
            " place.line as example_line from ("
            "select split_part(reason, ':', 1) as reason, count(*) as records,"
            " min(reason) as example, arg_min(struct_pack(path := path, line := line),"
            " (reason, line is null, path, line)) as place"
            " from quarantine group by split_part(reason, ':', 1))"
            " order by records desc, reason"
        ),
        "findings": mart.rows(
            "select finding, job, attempt, count, detail from findings"
            " order by finding, job, attempt"
        ),
    }


def quality_rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The same as rows: what was quarantined by reason, then the findings, coverage in each."""
    facts = {"as_of_us": answer["as_of_us"], "coverage": answer["coverage"]["share"]}
    refused = [
        {
            "finding": "quarantined",
            "count": row["records"],
            "detail": f"{row['example']} (such as {row['example_path']}:{row['example_line']})"
            if row["example_line"]
            else f"{row['example']} (such as in {row['example_path']})",
        }
        for row in answer["quarantine"]
    ]
    return [facts | row for row in [*refused, *answer["findings"]] or [{}]]


def _job_facts(mart: Mart, name: str) -> dict[str, Any]:
    found = mart.rows("select * from jobs where job = ?", [name])
    if found:
        return found[0]
    known = [row["job"] for row in mart.rows("select job from jobs")]
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    if mart.meta().as_of_given:
        hint += "; later records were not read (`headway refresh` reads all)"
    raise UsageError(f"{name}: no such job among {len(known)}{hint}")
