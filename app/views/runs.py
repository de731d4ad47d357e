"""Large runs and their checkpoints."""

from typing import Any

from answers import detail
from answers.budgets import Moment
from answers.facts import Facts
from metrics.objectives import standing
from metrics.scope import Scope


def checkpoints(facts: Facts, scope: Scope, as_of_us: int) -> list[dict[str, Any]]:
    """Each large run of the window, whether it kept the promise, and what proves it."""
    moment = Moment.of(facts, as_of_us)
    names = facts.large_runs(scope, moment.end_us)
    unmended = {b.job for b in standing(facts.breaches, moment.start_us, moment.end_us)}
    broken = {b.job for b in facts.breaches if moment.start_us <= b.at_us < moment.end_us}
    known = {row["job"]: row for row in detail.checkpoints(facts)}
    found = [
        _run(facts, name, known.get(name, {}))
        | {"broken": name in broken, "unmended": name in unmended}
        for name in names
    ]
    return sorted(
        found,
        key=lambda row: (row["proven_us"] is not None, not row["unmended"], row["newest_us"] or 0),
    )


def _run(facts: Facts, name: str, saved: dict[str, Any]) -> dict[str, Any]:
    return {
        "job": name,
        "completed": saved.get("completed", 0),
        "failed": saved.get("failed", 0),
        "passed": saved.get("passed", 0),
        "refused": saved.get("refused", 0),
        "newest_us": saved.get("newest_us"),
        "proven_us": saved.get("proven_us"),
        "interval_us": facts.jobs[name]["checkpoint_interval_us"],
    }
