"""Who waits and why, which gangs starve, what is lent meanwhile, and which contracts were kept."""

from typing import Any

from answers import waits
from answers.facts import Facts
from app.views import spans
from metrics.scope import Scope

LISTED = 50
"""So many waiting jobs are told one by one."""


def rows(facts: Facts, scope: Scope) -> list[dict[str, Any]]:
    """Every job of the scope that waits, the oldest first; LISTED of them with what to expect."""
    waiting = waits.Waiting(facts)
    found = [row for row in waiting.rows if facts.in_scope(row["job"], scope)]
    for row in found[:LISTED]:
        row["expectation"] = waiting.expectation(row)
    return found


def gangs(facts: Facts, scope: Scope) -> list[dict[str, Any]]:
    """Gangs of the scope that wait and hold no GPUs yet, the oldest first."""
    return [row for row in waits.Waiting(facts).gangs() if facts.in_scope(row["job"], scope)]


def explained(facts: Facts, scope: Scope, as_of_us: int) -> list[dict[str, Any]]:
    """How much of the window's waiting is explained, of all and by tier."""
    return waits.explained(facts, scope, *spans.window(facts, as_of_us))


def loans(facts: Facts, as_of_us: int) -> list[dict[str, Any]]:
    """Loans of reserved GPUs in the window, the newest first."""
    return waits.loans(facts.mart, *spans.window(facts, as_of_us))


def contracts(facts: Facts, scope: Scope, as_of_us: int) -> waits.Verdicts:
    """The verdicts of the window."""
    return waits.verdicts(facts, scope, *spans.window(facts, as_of_us))


def of_job(facts: Facts, job: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Why a job waits now (None: it does not), and the contracts that were broken to it."""
    broken = [row for row in waits.contracts(facts, job) if row["kept"] is False]
    waiting = waits.Waiting(facts)
    present = waiting.of(job)
    if present is not None:
        present["expectation"] = waiting.expectation(present)
    return present, broken
