"""The plan of a job's checkpoints, as its page shows it."""

from dataclasses import dataclass
from typing import Any

from answers.facts import Facts
from answers.planning.answer import answer
from answers.planning.measured import measured
from answers.planning.plan import Given, Plan
from app.charts.intervals import Choice
from metrics.errors import UsageError


@dataclass(frozen=True)
class Planned:
    """A plan as the command line has it, and what its curve is drawn from."""

    answer: dict[str, Any]
    choice: Choice


def plan(facts: Facts, job: str) -> Planned | str:
    """The plan from the job's own measurements, or why there is none."""
    try:
        made = Plan.of(Given(), measured(facts, job), facts.policy)
    except UsageError as e:
        return str(e)
    found = made.found
    choice = Choice(
        made.numbers.costs,
        made.interval_s,
        made.flat_s,
        found.interval_s if found else None,
        None if made.target is None else 1 - made.target,
    )
    return Planned(answer(made), choice)
