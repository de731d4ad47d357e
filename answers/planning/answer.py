"""A plan of checkpoints as the command prints it: numbers, constraints, words and money."""

from math import inf
from typing import Any

from answers.planning import words
from answers.planning.measured import Measured
from answers.planning.money import money
from answers.planning.plan import Plan
from metrics.checkpointing import Costs, Shared


def answer(plan: Plan) -> dict[str, Any]:
    """The answer: seconds, shares of the wall-clock, and words."""
    numbers = plan.numbers
    found = interval(numbers.costs, plan.interval_s, numbers.step_s) | {
        "constraints": words.constraints(plan),
        "assumptions": words.assumptions(plan),
        "advice": words.advice(plan),
        "arithmetic": words.arithmetic(plan),
        "flat_region_s": list(plan.flat_s),
    }
    if plan.given.jobs > 1:
        found["shared"] = shared_json(plan.shared)
    if plan.spot is not None:
        found["spot"] = interval(plan.spot, plan.interval_of(plan.spot), numbers.step_s)
    if plan.given.price is not None or plan.given.spot_price is not None:
        found["money"] = money(plan)
    if plan.found is not None:
        found["measured"] = measured_json(plan.found)
    return found


def interval(costs: Costs, interval_s: float, step_s: float | None) -> dict[str, Any]:
    """An interval in seconds and steps (null: their length is not known) and what it costs.

    Goodput is 1 − total; past a total of 1 it is 0, since none is below that.
    """
    lost = costs.overhead(interval_s)
    return {
        "interval_s": interval_s,
        "interval_steps": None if step_s is None else max(1, round(interval_s / step_s)),
        "overhead": {
            "save": lost.save,
            "lost_work": lost.lost_work,
            "restart": lost.restart,
            "total": lost.total,
        },
        "goodput": max(0.0, 1 - lost.total),
    }


def shared_json(shared: Shared) -> dict[str, Any]:
    """What K jobs do to a file system: times in seconds; null: saves never end."""
    slowdown = shared.slowdown
    return {
        "jobs": shared.jobs,
        "load": shared.load,
        "collision_chance": shared.collision_chance,
        "stagger_offset_s": shared.offset_s,
        "write_s": shared.write_s,
        "write_s_at_random": None if slowdown is None else slowdown * shared.write_s,
        "write_s_all_at_once": shared.at_once_s,
    }


def measured_json(found: Measured) -> dict[str, Any]:
    """A job's own measurements, in seconds; null for what is not known."""
    failures = found.failures
    between = failures.between_s if failures else None
    return {
        "job": found.job,
        "gpus": found.gpus,
        "interval_s": found.interval_s,
        "save_s": found.blocks_s,
        "write_s": found.write_s,
        "saves": found.saves,
        "restart_s": found.restart_s,
        "step_s": found.step_s,
        "goodput": found.goodput,
        "mtbf_s": _finite(between.mean) if between else None,
        "mtbf_low_s": between.low if between else None,
        "mtbf_high_s": _finite(between.high) if between else None,
        "mtbf_of": failures.of if failures else None,
        "restarts": failures.restarts if failures else None,
    }


def _finite(value: float) -> float | None:
    return None if value == inf else value
