"""One job: what its wall-clock went to, its life, restarts, steps, wait and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from answers import budgets, detail, questions
from answers.budgets import Report
from answers.facts import Facts
from answers.mart import Mart
from app.charts.life import Life, Stretch, since
from app.charts.steps import Bin
from app.charts.waterfall import Loss, Wall
from app.palette import ORDER
from metrics.conventions import DAY_US, HOUR_US
from metrics.errors import UsageError
from metrics.scope import Scope

ENDED = ("completed", "failed", "cancelled", "silent")
"""States of a job that does not go on."""

LIFE_BINS = 56
STEP_BINS = 400

CATEGORY_CHARGES = ("platform", "job", "nobody")


@dataclass(frozen=True)
class Found:
    """A job in the list to choose from."""

    job: str
    said: str


def search(mart: Mart, text: str) -> list[Found]:
    """Jobs whose id, name, tenant or state has the text, running ones first; at most 5,000."""
    rows = mart.rows(
        "select job, name, tenant, state, tier from jobs where ? = ''"
        " or contains(lower(concat_ws(' ', job, name, tenant, state, tier, \"user\")), lower(?))"
        " order by wall_us is null, state = 'running' desc, last_record_us desc, job limit 5000",
        [text, text],
    )
    return [Found(row["job"], _said(row)) for row in rows]


def _said(row: dict[str, Any]) -> str:
    named = [row["name"], row["tenant"], row["tier"], row["state"]]
    parts = [str(part) for part in named if part and part != row["job"]]
    return " · ".join([row["job"], *parts])


def facts_of(mart: Mart, job: str) -> dict[str, Any]:
    """A job's attributes and sums, as the command line has them. Raises UsageError."""
    answer = questions.job(mart, job)
    (row,) = mart.rows("select * from jobs where job = ?", [job])
    return row | answer


def wall(facts: Facts, job: str) -> Wall | None:
    """What the whole wall-clock went to, charged under the policy; None where there is none.

    Of a job that is not instrumented it is None too: nothing is known of its steps.
    """
    found = facts.jobs.get(job)
    if found is None or not found["wall_us"] or not found["instrumented"]:
        return None
    sums: dict[tuple[str, str], list[int]] = {}
    for row in detail.losses_of(facts, job):
        charge = facts.policy.charged_to(
            row["category"], row["component"], row["cause"], found["tier"]
        )
        spent = sums.setdefault((charge, row["category"]), [0, 0])
        spent[0] += row["us"]
        spent[1] += row["us"] if row["component"] == "rework" else 0
    losses = [
        Loss(category, charge, us, again)
        for (charge, category), (us, again) in sorted(
            sums.items(), key=lambda item: (CATEGORY_CHARGES.index(item[0][0]), ORDER[item[0][1]])
        )
        if us > 0
    ]
    wall_us = found["wall_us"]
    allowed = 1 - (facts.policy.target("goodput") or Fraction(1))
    return Wall(wall_us, wall_us - sum(loss.us for loss in losses), losses, allowed)


def own_budget(facts: Facts, job: str, as_of_us: int) -> Report | None:
    """The job's own goodput budget of the window; None where none applies."""
    found = budgets.reports(facts, Scope(job=job), as_of_us)
    return next((r for r in found if r.series.measure == "goodput"), None)


def restarts(mart: Mart, job: str) -> list[dict[str, Any]]:
    """The job's restarts in order, with the work that each had done again and the node named."""
    found = questions.restarts(mart, job)
    again = {
        row["detected_us"]: row
        for row in mart.rows(
            "select detected_us, any_value(node) as node,"
            " coalesce(sum(us) filter (component = 'rework'), 0)::bigint as us"
            " from restart_losses where job = ? group by detected_us",
            [job],
        )
    }
    ages = {
        row["detected_us"]: row["age_us"]
        for row in mart.rows("select detected_us, age_us from restarts where job = ?", [job])
    }
    for number, row in enumerate(found, 1):
        lost = again.get(row["detected_us"], {})
        row |= {"number": number, "again_us": lost.get("us", 0), "node": lost.get("node")}
        row["age_us"] = ages[row["detected_us"]]
    return found


def life(
    mart: Mart,
    job: str,
    as_of_us: int,
    planned: Sequence[tuple[int, int, str]],
    days: int | None = None,
) -> Life | None:
    """The job's life, or its last days, in small frames; None where it has no wall-clock."""
    (row,) = mart.rows(
        "select wall_start_us as start_us, wall_end_us as end_us, instrumented, state from jobs"
        " where job = ?",
        [job],
    )
    if row["start_us"] is None or row["end_us"] <= row["start_us"]:
        return None
    end_us = row["end_us"]
    start_us = max(row["start_us"], end_us - days * DAY_US) if days else row["start_us"]
    bin_us = _bin_us(end_us - start_us)
    detected = mart.rows("select detected_us from restarts where job = ? order by 1", [job])
    whole = Life(
        start_us,
        end_us,
        min(as_of_us, max(end_us, as_of_us if planned else end_us)),
        _attempts(mart, job, end_us),
        _stretches(mart, job, start_us, (end_us - start_us) // 8000),
        _again(mart, job),
        [(number, r["detected_us"]) for number, r in enumerate(detected, 1)],
        tuple(planned),
        _bins(mart, job, start_us, bin_us),
        bin_us,
        job,
        row["instrumented"],
        row["state"] in ENDED,
    )
    return since(whole, start_us)


def _stretches(mart: Mart, job: str, from_us: int, least_us: int) -> list[Stretch]:
    rows = mart.rows(
        "select start_us, end_us, category, component, cause from stretches where job = ?"
        " and component not in ('pause', 'run') and end_us > ? and end_us - start_us >= ?"
        " order by end_us - start_us desc limit 600",
        [job, from_us, least_us],
    )
    return [Stretch(**row) for row in rows]


def _bin_us(span_us: int) -> int:
    """A round number of hours, of which at most LIFE_BINS make the span."""
    for hours in (1, 2, 3, 6, 12, 24, 48, 96, 168):
        if span_us <= LIFE_BINS * hours * HOUR_US:
            return hours * HOUR_US
    return 336 * HOUR_US


def _attempts(mart: Mart, job: str, end_us: int) -> list[tuple[int, int, int]]:
    rows = mart.rows(
        "select attempt, coalesce(allocated_us, first_step_us) as start_us,"
        " coalesce(interrupted_us, last_step_us) as end_us from attempts"
        " where job = ? and coalesce(allocated_us, first_step_us) is not null"
        " order by attempt limit 400",
        [job],
    )
    found = []
    for place, row in enumerate(rows):
        last = place == len(rows) - 1
        until_us = row["end_us"] or (end_us if last else rows[place + 1]["start_us"])
        found.append((row["attempt"], row["start_us"], max(until_us, row["start_us"])))
    return found


def _again(mart: Mart, job: str) -> list[Stretch]:
    """Work that was done again, as a stretch of its length that ends with what was lost.

    At a moment of the past, work may be known to be lost that was going on then: it ends there.
    """
    rows = mart.rows(
        "select l.detected_us, any_value(l.category) as category, any_value(l.cause) as cause,"
        " sum(l.us)::bigint as us, case when l.detected_us > (select as_of_us from meta)"
        "   then (select as_of_us from meta) else (select max(a.last_step_us) from attempts a"
        "     where a.job = l.job and a.last_step_us <= l.detected_us) end as until_us"
        " from restart_losses l where l.job = ? and l.component = 'rework'"
        " group by l.job, l.detected_us order by l.detected_us limit 300",
        [job],
    )
    return [
        Stretch(r["until_us"] - r["us"], r["until_us"], r["category"], "rework", r["cause"])
        for r in rows
        if r["until_us"] is not None
    ]


def _bins(mart: Mart, job: str, from_us: int, bin_us: int) -> list[tuple[int, str, bool, int]]:
    rows = mart.rows(
        "select hour_us // ? * ? as bin_us, category, component = 'rework' as again,"
        " sum(us)::bigint as us from ledger where job = ? and category <> 'useful'"
        " and category <> 'uninstrumented' and hour_us + 3600000000 > ? group by all order by all",
        [bin_us, bin_us, job, from_us],
    )
    return [(r["bin_us"], r["category"], r["again"], r["us"]) for r in rows]


def steps(mart: Mart, job: str) -> tuple[list[Bin], int]:
    """Step times in at most STEP_BINS bins, and the median of all hours' medians in µs."""
    (row,) = mart.rows(
        "select min(hour_us) as start_us, max(hour_us) + 3600000000 as end_us,"
        " quantile_disc(median_us, 0.5) as typical_us from step_hours where job = ?",
        [job],
    )
    if row["start_us"] is None:
        return [], 0
    hours = -(-(row["end_us"] - row["start_us"]) // (STEP_BINS * HOUR_US))
    found = mart.rows(
        "select hour_us // ? * ? as at_us, min(p10_us) as p10_us,"
        " quantile_disc(median_us, 0.5) as median_us, max(p90_us) as p90_us,"
        " max(longest_us) as longest_us, sum(steps)::bigint as steps,"
        " sum(straggler_us)::bigint as straggler_us from step_hours where job = ?"
        " group by all order by at_us",
        [hours * HOUR_US, hours * HOUR_US, job],
    )
    return [Bin(**r) for r in found], row["typical_us"]


def stragglers(mart: Mart, job: str) -> list[dict[str, Any]]:
    """The nodes that the job waited for most, in µs."""
    return mart.rows(
        "select straggler_node as node, sum(straggler_us)::bigint as us, count(*) as hours"
        " from step_hours where job = ? and straggler_node is not null"
        " group by all order by us desc, node limit 5",
        [job],
    )


def slow_us(mart: Mart, job: str) -> int:
    """What slow steps took beyond their baseline, in µs."""
    (row,) = mart.rows(
        "select coalesce(sum(us), 0)::bigint as us from ledger"
        " where job = ? and component = 'slow_step'",
        [job],
    )
    return int(row["us"])


@dataclass(frozen=True)
class Wait:
    """A queue wait in µs: whether it goes on, and its turns."""

    wait_us: int
    censored: bool
    basis: str | None
    turns: tuple[dict[str, Any], ...]


def wait(mart: Mart, job: str) -> Wait | None:
    """The job's queue story; None where its submission is not on record."""
    rows = mart.rows("select wait_us, censored, basis from queue_waits where job = ?", [job])
    if not rows:
        return None
    turns = mart.rows(
        "select start_us, end_us, part, reason, detail from wait_story where job = ?"
        " order by start_us limit 200",
        [job],
    )
    return Wait(rows[0]["wait_us"], rows[0]["censored"], rows[0]["basis"], tuple(turns))


def holes(mart: Mart, job: str) -> list[dict[str, Any]]:
    """What is missing or contradicts itself in the job's records."""
    return mart.rows(
        "select finding, attempt, count, detail from findings where job = ?"
        " order by finding, attempt limit 100",
        [job],
    )


def attempts(mart: Mart, job: str) -> list[dict[str, Any]]:
    """Attempts with their steps, for the table and side by side."""
    return mart.rows(
        "select a.attempt, a.allocated_us, a.first_step_us, a.last_step_us, a.interrupted_us,"
        " a.steps, a.min_step, a.max_step, coalesce(len(a.nodes), 0) as nodes,"
        " (select quantile_disc(median_us, 0.5) from step_hours h"
        "   where h.job = a.job and h.attempt = a.attempt) as median_us"
        " from attempts a where a.job = ? order by a.attempt limit 400",
        [job],
    )


def must_exist(mart: Mart, job: str) -> None:
    """Raise UsageError, with the closest names, where there is no such job."""
    questions.job(mart, job)


def closest(mart: Mart, job: str) -> tuple[str, list[str]]:
    """Why a job is not found, and the closest names."""
    try:
        questions.job(mart, job)
    except UsageError as e:
        said = str(e)
        names = said.partition("did you mean ")[2].partition("?")[0]
        return said, [name for name in names.split(", ") if name]
    return "", []
