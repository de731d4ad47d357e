"""What a plan of checkpoints says in words: constraints, assumptions, arithmetic and the advice."""

from dataclasses import replace
from math import inf
from typing import Any

from answers.planning.money import goodput, money, warned
from answers.planning.plan import Plan
from answers.wording import number, percent, plural, size, span, whole

Constraint = dict[str, Any]


def _constraint(name: str, holds: bool | None, detail: str) -> Constraint:
    return {"name": name, "holds": holds, "detail": detail}


def constraints(plan: Plan) -> list[Constraint]:
    """What must hold besides: `holds` is null where it cannot be told."""
    found = [
        _objective(plan),
        _formula(plan),
        _interval_in_force(plan),
        _background(plan),
        _writers(plan),
        _shared(plan),
        _warning(plan),
        _warned_together(plan),
    ]
    return [constraint for constraint in found if constraint is not None]


def _objective(plan: Plan) -> Constraint | None:
    if plan.target is None:
        return None
    useful = goodput(plan, plan.numbers.costs)
    holds = useful >= plan.target
    stands = "reaches" if holds else "is below"
    detail = f"a goodput of {percent(max(0.0, useful))} {stands} the objective of"
    return _constraint("goodput objective", holds, f"{detail} {whole(plan.target)}")


def formula_holds(plan: Plan) -> bool:
    """Whether the first-order formula is as close to the exact model as the policy asks."""
    costs = plan.numbers.costs
    off = costs.exact_goodput(plan.interval_s) - goodput(plan, costs)
    return abs(off) <= float(plan.policy.planning.formula_points)


def _formula(plan: Plan) -> Constraint:
    costs = plan.numbers.costs
    exact = costs.exact_goodput(plan.interval_s)
    off = exact - goodput(plan, costs)
    holds = formula_holds(plan)
    least = f"off by more than {float(plan.policy.planning.formula_points) * 100:g}"
    beside = "close enough" if holds else f"{least}, failures are too frequent: take this number"
    return _constraint(
        "first-order formula",
        holds,
        f"with exponential failures that strike restarts and saves too, goodput is {percent(exact)}"
        f" ({off * 100:+.1f} points): {beside}",
    )


def _interval_in_force(plan: Plan) -> Constraint | None:
    if plan.found is None or not plan.found.interval_s:
        return None
    now_s, costs = plan.found.interval_s, plan.numbers.costs
    low_s, high_s = plan.flat_s
    now, best = costs.overhead(now_s).total, costs.overhead(plan.interval_s).total
    return _constraint(
        "interval in force",
        low_s <= now_s <= high_s,
        f"it saves every {span(now_s)} now, which loses {percent(now)},"
        f" {(now - best) * 100:.1f} points more than the advised interval",
    )


def _background(plan: Plan) -> Constraint | None:
    saving = plan.numbers.saving
    if saving.blocking_fraction >= 1:
        return None
    best_s = min(costs.best_interval_s for costs in (plan.numbers.costs, plan.spot) if costs)
    holds = saving.write_s <= best_s
    best = f"{span(best_s)}{' on spot' if plan.spot else ''}"
    held = f"a save is durable after {span(saving.write_s)}, the best interval is {best}"
    wrong = (
        "were it not, the next snapshot would wait for it and block the loop, or pile up in host"
    )
    wrong += " memory, and what a failure loses would grow by each save that is not durable"
    return _constraint("background write ends before the next", holds, f"{held}; {wrong}")


def _writers(plan: Plan) -> Constraint | None:
    saving, given = plan.numbers.saving, plan.given
    speed = saving.writer_speed
    if saving.size is None or speed is None or (given.size is None and given.writers == 1):
        return None
    said = (
        f"{size(saving.size)} by {plural(saving.writers, 'writer')}: {size(speed)}/s a writer,"
        f" {size(speed * saving.writers)}/s in all"
    )
    if saving.alone_s is None:
        return _constraint("writers", None, f"{said}; --bandwidth tells where more are no faster")
    limit = "the file system takes no more: further writers save nothing"
    more = "the file system could take more"
    detail = f"{said}; {limit if saving.is_saturated else more}"
    return _constraint("writers", not saving.is_saturated, detail)


def _shared(plan: Plan) -> Constraint | None:
    found = plan.shared
    if found.jobs == 1:
        return None
    saving = plan.numbers.saving
    asked = saving.size * found.jobs / found.interval_s if saving.size else None
    said = [
        f"{found.jobs:,} jobs ask {size(asked)}/s on average"
        if asked is not None
        else f"{found.jobs:,} jobs ask {number(found.load)} times what one save gets",
        f"begun at random, {percent(found.collision_chance)} of saves overlap another",
        f"staggered, each begins {span(found.offset_s)} after the one before it"
        f" ({'none overlaps' if found.is_staggered_free else 'they overlap all the same'})",
        _collisions(plan),
    ]
    is_known = saving.alone_s is not None or found.load <= 1
    return _constraint("shared file system", found.load <= 1 if is_known else None, "; ".join(said))


def _collisions(plan: Plan) -> str:
    found, saving = plan.shared, plan.numbers.saving
    at_once = f"all at once {span(found.at_once_s)}"
    if found.slowdown is None:
        least = span(found.shortest_interval_s)
        return (
            f"begun at random they never catch up: it takes them every {least} at best, {at_once}"
        )
    if found.slowdown == 1:
        return f"collisions slow no save on average, {at_once}"
    slow_s = found.slowdown * saving.blocks_s
    lost = plan.numbers.costs.overhead(found.interval_s).save * (found.slowdown - 1)
    return (
        f"collisions make what blocks {span(slow_s)} of {span(saving.blocks_s)}"
        f" ({lost * 100:+.1f} points), {at_once}"
    )


def _warning(plan: Plan) -> Constraint | None:
    found = warned(plan)
    if found is None:
        return None
    fits = "fits into" if found.fits else "misses"
    detail = f"a save of {span(found.write_s)} {fits} a warning of {span(found.warning_s)}"
    if found.fits:
        saved = found.costs.overhead(plan.interval_of(found.costs)).lost_work
        kept = (saved - found.costs.save_s / found.costs.mtbf_s) * 100
        detail += f"; a graceful stop is worth {kept:.1f} points of goodput"
    else:
        detail += ": a graceful stop saves nothing; more writers could make it fit"
    return _constraint("save fits the warning", found.fits, detail)


def _warned_together(plan: Plan) -> Constraint | None:
    found = warned(plan)
    if found is None:
        return None
    fails = "preemptions come together, when the capacity is wanted back: every job saves at once"
    if plan.given.jobs > 1:
        all_s = plan.shared.at_once_s
        detail = f"{fails}, {plan.given.jobs:,} jobs take {span(all_s)} each"
        return _constraint("all preempted jobs save at once", all_s <= found.warning_s, detail)
    most = found.jobs_at_once
    detail = f"{fails}; where one save takes all of the file system, {most:,} fit; say --jobs"
    return _constraint("all preempted jobs save at once", None, detail)


def assumptions(plan: Plan) -> list[str]:
    """Where each number is from, and what is taken for granted."""
    saving, costs = plan.numbers.saving, plan.numbers.costs
    said = [*plan.numbers.sources, *_spread(plan)]
    if saving.writers > 1 and plan.given.save_s is None:
        said.append("what was measured counts as one writer's")
    if saving.writers > 1 or plan.given.blocking_fraction is not None:
        shared = f"{saving.writers:,} writers share" if saving.writers > 1 else "one writer writes"
        said.append(
            f"{shared} a save: {span(saving.write_s)}, of which"
            f" {percent(saving.blocking_fraction)} blocks the loop: {span(saving.blocks_s)}"
        )
    if saving.blocking_fraction < 1:
        lost = (saving.write_s - saving.blocks_s) / costs.mtbf_s
        said.append(
            f"a save still being written when the job fails is not counted: {percent(lost)} more"
        )
    said.append("failures come at random, independent of one another, and lose half an interval")
    said.append("goodput counts what saves and failures take, nothing else")
    if plan.given.jobs > 1 and saving.alone_s is None:
        said.append(
            "one job's save takes all that the file system gives (say --bytes, --bandwidth)"
        )
    if warned(plan) is not None:
        said.append(
            "a warned job saves once more, blocked as by any save; what it trains between that"
            " snapshot and its end is not counted as lost. The low end saves at warnings only, the"
            " high end goes on saving at its interval, in case a warning fails"
        )
    return said


def _spread(plan: Plan) -> list[str]:
    """How far T* moves while M moves through its interval; nothing where M was given."""
    failures = plan.found.failures if plan.found else None
    if failures is None or plan.given.mtbf_s is not None:
        return []
    costs = plan.numbers.costs
    ends = [
        span(replace(costs, mtbf_s=mtbf_s).best_interval_s)
        for mtbf_s in (failures.between_s.low, failures.between_s.high)
    ]
    return [f"while failures come as often as that interval says, T* lies from {' to '.join(ends)}"]


def arithmetic(plan: Plan) -> list[str]:
    """The sums, as they can be done by hand."""
    costs, interval_s = plan.numbers.costs, plan.interval_s
    c, m, r, t = map(number, (costs.save_s, costs.mtbf_s, costs.restart_s, interval_s))
    lost = costs.overhead(interval_s)
    lines = [f"T* = √(2 · C · M) = √(2 · {c} s · {m} s) = {number(costs.best_interval_s)} s"]
    if interval_s > costs.best_interval_s:
        lines.append(f"T = {t} s, the shortest that is possible here")
    if plan.numbers.step_s:
        steps = max(1, round(interval_s / plan.numbers.step_s))
        lines.append(f"steps = {t} s / {number(plan.numbers.step_s)} s = {steps:,}")
    return [
        *lines,
        f"saving C / T = {c} / {t} = {percent(lost.save)}",
        f"work done again T / 2M = {t} / {number(2 * costs.mtbf_s)} = {percent(lost.lost_work)}",
        f"restarts R / M = {r} / {m} = {percent(lost.restart)}",
        f"goodput = 1 − {percent(lost.total)} = {percent(max(0.0, 1 - lost.total))}",
    ]


def advice(plan: Plan) -> str:
    """A paragraph for the top of a design document: decision, cost, when to revisit."""
    parts = [
        _decision(plan),
        _price(plan),
        _objective_reached(plan),
        _together(plan),
        _dollars(plan),
        _revisit(plan),
    ]
    return " ".join(part for part in parts if part)


def _decision(plan: Plan) -> str:
    steps = plan.numbers.step_s
    named = f" ({max(1, round(plan.interval_s / steps)):,} steps)" if steps else ""
    low_s, high_s = plan.flat_s
    best_s = plan.numbers.costs.best_interval_s
    if plan.interval_s > best_s:
        return (
            f"Save every {span(plan.interval_s)}{named}, the shortest interval in which saves end;"
            f" {span(best_s)} would be best."
        )
    return (
        f"Save every {span(plan.interval_s)}{named}; from {span(low_s)} to {span(high_s)} it costs"
        f" at most {plan.points * 100:.1f} points more."
    )


def _price(plan: Plan) -> str:
    lost = plan.numbers.costs.overhead(plan.interval_s)
    useful = percent(max(0.0, 1 - lost.total))
    measured = plan.found.goodput if plan.found else None
    so_far = f" ({percent(measured)} measured, all losses counted)" if measured is not None else ""
    exact = plan.numbers.costs.exact_goodput(plan.interval_s)
    exactly = "" if formula_holds(plan) else f"; {percent(exact)} by the exact model"
    return (
        f"That takes {percent(lost.save + lost.lost_work)} of the wall-clock (saving"
        f" {percent(lost.save)}, work done again {percent(lost.lost_work)}), with restarts"
        f" {percent(lost.total)}: expect a goodput of {useful}{so_far}{exactly}."
    )


def _objective_reached(plan: Plan) -> str:
    if plan.target is None or goodput(plan, plan.numbers.costs) >= plan.target:
        return ""
    costs = plan.numbers.costs
    most_s = costs.save_s_for(plan.target)
    below = f"This is below the objective of {whole(plan.target)}:"
    if most_s is None:
        restarts = percent(costs.restart_s / costs.mtbf_s)
        return f"{below} no interval reaches it, restarts alone take {restarts}."
    return f"{below} a save that blocks {span(most_s)} at most would reach it."


def _together(plan: Plan) -> str:
    found = plan.shared
    if found.jobs == 1:
        return ""
    return f"Begin the {found.jobs:,} jobs' saves {span(found.offset_s)} after one another."


def _dollars(plan: Plan) -> str:
    if plan.given.price is None and plan.given.spot_price is None:
        return ""
    found = money(plan)
    said = [
        _kind(name, found[key], found["currency"])
        for key, name in (("on_demand", "on demand"), ("spot", "on spot"))
        if key in found
    ]
    return f"A useful GPU-hour costs {', '.join(said)}."


def _kind(name: str, row: dict[str, Any], currency: str) -> str:
    each = row["per_useful_gpu_hour"]
    if each is None:
        return f"an unknown amount {name} (by this formula nothing useful is left)"
    hours = f" ({row['wall_hours']:,.0f} h of wall-clock)" if row["wall_hours"] is not None else ""
    warning = row.get("with_warning")
    low_to_high = (
        f", {dollars(warning['low'], currency)} to {dollars(warning['high'], currency)} with the"
        " warning used"
        if warning and warning["low"] is not None and warning["high"] is not None
        else ""
    )
    return f"{dollars(each, currency)} {name}{hours}{low_to_high}"


def dollars(amount: float, currency: str) -> str:
    """An amount of money, cents below a thousand."""
    digits = f"{amount:,.2f}" if amount < 1000 else f"{amount:,.0f}"
    return f"${digits}" if currency == "USD" else f"{digits} {currency}"


def _revisit(plan: Plan) -> str:
    costs, interval_s = plan.numbers.costs, plan.interval_s
    if interval_s > costs.best_interval_s:
        return f"Revisit once {_what_binds(plan)}."
    save_low, save_high = costs.save_range_s(interval_s, plan.points)
    mtbf_low, mtbf_high = costs.mtbf_range_s(interval_s, plan.points)
    less = f"less than {span(save_low)} or " if save_low else ""
    rarely = f" or less often than every {span(mtbf_high)}" if mtbf_high < inf else ""
    return (
        f"Revisit when a save blocks for {less}more than {span(save_high)}, or when failures come"
        f" more often than every {span(mtbf_low)}{rarely}: another interval then gains more than"
        f" {plan.points * 100:.1f} points."
    )


def _what_binds(plan: Plan) -> str:
    write_s = plan.numbers.saving.write_s
    if plan.floor_s > write_s:
        return f"the file system takes more, or fewer than {plan.given.jobs:,} jobs save on it"
    return f"a save is durable in less than {span(write_s)}"
