"""What a plan costs on demand and on spot: a useful GPU-hour, a job of so many useful hours."""

from typing import Any

from answers.planning.plan import Plan
from metrics.checkpointing import Costs, Warned

Row = dict[str, Any]


def money(plan: Plan) -> Row:
    """By kind of capacity: prices, hours and totals; null for what is not known."""
    given = plan.given
    found: Row = {"currency": plan.policy.price.currency}
    costs = plan.numbers.costs
    if given.price is not None:
        found["on_demand"] = _cost(plan, given.price, goodput(plan, costs))
    if given.spot_price is not None and plan.spot is not None:
        found["spot"] = _cost(plan, given.spot_price, goodput(plan, plan.spot))
        found["spot"]["with_warning"] = _with_warning(plan, given.spot_price)
    return found


def goodput(plan: Plan, costs: Costs) -> float:
    """What the plan's interval leaves useful under those costs."""
    return 1 - costs.overhead(plan.interval_of(costs)).total


def warned(plan: Plan) -> Warned | None:
    """The warning before a preemption: of spot where that is planned, else of the job itself."""
    if plan.given.warning_s is None:
        return None
    return Warned(
        plan.spot or plan.numbers.costs, plan.numbers.saving.write_s, plan.given.warning_s
    )


def _cost(plan: Plan, price: float, useful: float) -> Row:
    gpus, useful_h = plan.numbers.gpus, plan.given.useful_h
    makes_headway = useful > 0
    wall_h = useful_h / useful if useful_h is not None and makes_headway else None
    return {
        "price_per_gpu_hour": price,
        "per_useful_gpu_hour": price / useful if makes_headway else None,
        "wall_hours": wall_h,
        "total": None if wall_h is None or gpus is None else wall_h * gpus * price,
    }


def _with_warning(plan: Plan, price: float) -> Row | None:
    """Per useful GPU-hour where each preemption is warned of; null where a save misses the warning.

    `low` saves at warnings alone, `high` goes on saving at the interval as well.
    """
    found = warned(plan)
    if found is None or not found.fits:
        return None
    alone = 1 - found.overhead_without_saves
    beside = 1 - found.overhead_with_saves(plan.interval_of(found.costs))
    return {
        "low": price / alone if alone > 0 else None,
        "high": price / beside if beside > 0 else None,
    }
