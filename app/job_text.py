"""A job in words and rows, for its page."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from answers.budgets import Report
from app import format
from app.charts.waterfall import Wall
from app.markup import Card
from app.palette import (
    BY_ID,
    PHASE_LABELS,
    PHASES,
    REASON_LABELS,
    STATE_BADGES,
    label,
)
from app.views.jobs import Wait
from metrics.budget import State
from metrics.policy import Classes

Rows = list[dict[str, Any]]

ADVICE = {
    "not instrumented": "Record a step record for each step (job, attempt, step, ts, duration_s).",
    "GPUs unknown": "Name `gpus` in job_submitted or resources_allocated.",
    "silent": "Record job_ended, or keep recording steps.",
    "clipped overlaps": "Record ts as the end of the step, and one attempt at a time.",
    "over-reported components": "data_wait_s, straggler_s, checkpoint_s and overhead_s are parts of"
    " duration_s: they may not exceed it.",
    "steps after an interruption": "Give the restarted process a new attempt number.",
    "step numbers jump": "Record every step, or one record with `steps` = n for n of them.",
    "resume contradicts checkpoint_loaded": "Let checkpoint_loaded name the last step that the"
    " checkpoint contains.",
    "attempt allocated twice": "Export all runs of a job at once.",
    "started before it was submitted": "Record job_submitted when the job enters the queue.",
}


def verdict(facts: Mapping[str, Any], wall: Wall | None) -> tuple[str, str]:
    """Title and sentence: the answer in a few words."""
    if facts["state"] == "pending":
        return "It has not run yet", "It waits in the queue: why, and what to expect, is below."
    if wall is not None:
        goodput = format.percent(Fraction(wall.useful_us, wall.wall_us))
        return f"{goodput} of {format.percent(1 - wall.allowed, 0)} useful", _charged(wall)
    if not facts["instrumented"]:
        return "Goodput unknown: no step records", (
            "Record a step record for each step and the next refresh knows where its time went."
        )
    return "It has not run yet", "It has no wall-clock: nothing was allocated, no step recorded."


def _charged(wall: Wall) -> str:
    """Whose account the lost time went to, and whether that was more than is allowed."""
    platform, own, nobody = map(wall.share_of, ("platform", "job", "nobody"))
    lent = f", **{_of(nobody, wall)}** is nobody’s (its capacity is a loan)" if nobody else ""
    is_over = platform > wall.allowed * wall.wall_us
    kept = "took more than" if is_over else "stayed within"
    return (
        f"**{_of(platform, wall)}** of its wall-clock went to the platform’s account,"
        f" **{_of(own, wall)}** to its own code{lent}. The platform {kept} its allowance."
    )


def _of(us: int, wall: Wall) -> str:
    return format.percent(Fraction(us, wall.wall_us))


def attributes(name: str, facts: Mapping[str, Any]) -> str:
    """Which job it is, in a line."""
    known = [
        f"**{format.plain(name)}**",
        format.plain(facts["name"]) if facts["name"] not in (None, name) else None,
        facts["state"],
        format.plural(facts["gpus"], "GPU") if facts["gpus"] else "GPUs unknown",
        facts["tier"] or "no tier",
        f"tenant {format.plain(facts['tenant'])}" if facts["tenant"] else None,
    ]
    return " · ".join(part for part in known if part)


def share_cards(wall: Wall) -> list[Card]:
    """Goodput, and what went to the platform's and to the job's account."""
    shares = (
        (f"Goodput, target {format.percent(1 - wall.allowed, 0)}", wall.useful_us),
        ("Platform’s share", wall.share_of("platform")),
        ("Job’s share", wall.share_of("job")),
    )
    whole = format.duration(wall.wall_us)
    return [Card(label, _of(us, wall), f"{format.duration(us)} of {whole}") for label, us in shares]


def budget_card(report: Report | None, classes: Classes, is_stale: bool) -> Card:
    """What is left of the job's own budget, or why that is not known."""
    if report is None:
        why = (
            f"Only large jobs have one: at least {classes.large_gpus} GPUs for"
            f" {format.duration(classes.large_duration_us)}, under this policy."
        )
        return Card("Its own budget", "Unknown", why)
    if report.state is State.UNKNOWN:
        why = "It has no instrumented wall-clock in these 30 days."
        return Card("Its own budget", "Unknown", why)
    budget = report.budget
    state = State.UNKNOWN if is_stale else report.state
    return Card(
        f"Budget left of {format.amount(budget.allowed, 'us')}",
        format.amount(budget.remaining, "us"),
        badges=[STATE_BADGES[state]],
    )


def ledger(wall: Wall) -> Rows:
    """What each category lost, then all of them."""
    again_us = sum(loss.again_us for loss in wall.losses)
    losses = [
        (BY_ID[loss.category].label, loss.charge, loss.us, loss.again_us) for loss in wall.losses
    ]
    return [
        {
            "What": what,
            "Charged to": charge,
            "Time": format.duration(us),
            "Of wall-clock": _of(us, wall),
            "Work done again": format.duration(again),
            "Exact, µs": us,
        }
        for what, charge, us, again in (*losses, ("Lost in all", "", wall.gap_us, again_us))
    ]


def spent(report: Report) -> str:
    """How much of the job's own budget is spent."""
    budget = report.budget
    return (
        f"{format.amount(budget.amount.bad, 'us')} of {format.amount(budget.allowed, 'us')}"
        f" allowed ({format.percent(1 - report.series.target, 0)} of its"
        f" {format.amount(budget.amount.total, 'us')} in the window)."
    )


def spenders(report: Report, spending: Mapping[str, int]) -> Rows:
    """What each category spent of the job's own budget."""
    allowed = report.budget.allowed
    return [
        {
            "Category": BY_ID[category].label,
            "Spent": format.amount(us, "us"),
            "Of its budget": format.percent(Fraction(us, allowed) if allowed else None),
        }
        for category, us in spending.items()
    ]


def attempts(found: Sequence[Mapping[str, Any]]) -> Rows:
    """A row an attempt."""
    return [
        {
            "Attempt": row["attempt"],
            "Allocated": format.moment(row["allocated_us"]),
            "First step": format.moment(row["first_step_us"]),
            "Last step": format.moment(row["last_step_us"]),
            "Interrupted": _interrupted(row),
            "Steps": _steps(row),
            "Nodes": row["nodes"],
        }
        for row in found
    ]


def _interrupted(row: Mapping[str, Any]) -> str:
    return format.moment(row["interrupted_us"]) if row["interrupted_us"] else "no"


def _steps(row: Mapping[str, Any]) -> str:
    return format.UNKNOWN if row["steps"] is None else format.count(row["steps"])


def _until_first_step(row: Mapping[str, Any]) -> str:
    if row["allocated_us"] is None or row["first_step_us"] is None:
        return format.UNKNOWN
    return format.duration(row["first_step_us"] - row["allocated_us"])


_ATTEMPT_FACTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Allocated": lambda row: format.moment(row["allocated_us"]),
    "Until its first step": _until_first_step,
    "Steps": _steps,
    "Median step": lambda row: format.duration(row["median_us"]),
    "Last step": lambda row: format.moment(row["last_step_us"]),
    "Interrupted": _interrupted,
    "Nodes": lambda row: str(row["nodes"] or format.UNKNOWN),
}


def two_attempts(left: Mapping[str, Any], right: Mapping[str, Any]) -> Rows:
    """A row a fact, with it of both; an attempt beside itself has two columns too."""
    return [
        {
            "": what,
            f"Attempt {left['attempt']}": say(left),
            f"Attempt {right['attempt']} ": say(right),
        }
        for what, say in _ATTEMPT_FACTS.items()
    ]


def restart(row: Mapping[str, Any], limit_us: int, zone: str | None) -> str:
    """One restart: when and where, how long, whether that was too long, what was lost."""
    over_us = row["age_us"] - limit_us
    judged = f"{format.duration(over_us)} over" if over_us >= 0 else "within the limit"
    node = f" on node {format.plain(row['node'])}" if row["node"] else ""
    lost = f"; {format.plural(row['lost_steps'], 'step')} done again" if row["lost_steps"] else ""
    return (
        f"Detected {format.moment(row['detected_us'], zone)}{node}: time to restart"
        f" **{format.duration(row['age_us'])}** ({row['outcome']}), {judged}{lost}."
    )


def restarts(found: Sequence[Mapping[str, Any]]) -> Rows:
    """A row a restart, with the length of each phase."""
    return [
        {
            "Restart": row["number"],
            "Detected": format.moment(row["detected_us"]),
            "Cause": label("cause", row["cause"]),
            "Node": row["node"] or "not named",
            "To restart": format.duration(row["age_us"]),
            "Outcome": row["outcome"],
        }
        | {PHASE_LABELS[phase]: format.duration(row["components"][phase]) for phase in PHASES}
        | {"Work done again": format.duration(row["again_us"])}
        for row in found
    ]


def stragglers(found: Sequence[Mapping[str, Any]]) -> Rows:
    """How long each node was waited for."""
    return [
        {
            "Node": row["node"],
            "Waited for it": format.duration(row["us"]),
            "In hours": row["hours"],
        }
        for row in found
    ]


def waited(found: Wait, tier: str | None, limit_us: int | None) -> str:
    """How long it waited, and the limit of its tier."""
    limit = "best effort" if limit_us is None else f"limit {format.duration(limit_us)}"
    state = "is still waiting after" if found.censored else "waited"
    return f"It {state} **{format.duration(found.wait_us)}** ({tier or 'no tier'}, {limit})."


def turns(found: Wait) -> Rows:
    """What it waited for in turn, with details where there are any."""
    is_detailed = any(turn["detail"] for turn in found.turns)
    return [
        {
            "From": format.moment(turn["start_us"]),
            "What": _turn(turn),
            "For": format.duration(turn["end_us"] - turn["start_us"]),
        }
        | ({"Detail": turn["detail"] or ""} if is_detailed else {})
        for turn in found.turns
    ]


def _turn(turn: Mapping[str, Any]) -> str:
    if turn["part"] == "pending":
        return f"Waiting: {REASON_LABELS.get(turn['reason'], turn['reason']).lower()}"
    if turn["part"] == "requeue":
        return "Interrupted, waiting again"
    return label("component", turn["part"])


def holes(found: Sequence[Mapping[str, Any]]) -> Rows:
    """What the records lack, and what to record."""
    return [
        {
            "What": row["finding"],
            "In words, and what to record": _hole(row),
            "Attempt": "all" if row["attempt"] is None else str(row["attempt"]),
            "How often": row["count"],
        }
        for row in found
    ]


def _hole(row: Mapping[str, Any]) -> str:
    advice = ADVICE.get(row["finding"])
    said = format.capital(row["detail"])
    return f"{said}. {advice}".replace("`", "") if advice else f"{said}."


def two_jobs(name: str, wall: Wall, other: str, theirs: Wall) -> Rows:
    """A row a category that either lost time to, with the share of both wall-clocks."""
    lost = [
        (category.label, _lost(wall, category.id), _lost(theirs, category.id))
        for category in BY_ID.values()
    ]
    useful = ("Useful steps", wall.useful_us, theirs.useful_us)
    return [
        {
            "Of wall-clock": what,
            name: _length(ours_us, wall),
            other: _length(its_us, theirs),
            "Difference": _points(
                Fraction(ours_us, wall.wall_us) - Fraction(its_us, theirs.wall_us)
            ),
        }
        for what, ours_us, its_us in (useful, *(row for row in lost if any(row[1:])))
    ]


def _lost(wall: Wall, category: str) -> int:
    return sum(loss.us for loss in wall.losses if loss.category == category)


def _length(us: int, wall: Wall) -> str:
    return f"{_of(us, wall)} ({format.duration(us)})"


def _points(share: Fraction) -> str:
    return f"{float(share) * 100:+.1f} points".replace("-", "−")
