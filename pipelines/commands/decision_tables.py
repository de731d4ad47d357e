"""Budgets, decisions and what people decided as tables for people."""

from fractions import Fraction
from typing import Any

from answers.budgets import Report
from answers.durability import Durability
from answers.wording import hours
from metrics.budget import Budget, Unit
from metrics.scope import Scope
from pipelines.show import console, duration, moment, percent, print_table


def print_budgets(scope: Scope, found: list[Report]) -> None:
    """Budgets, a row each; whole goodput stands beside the share that is charged."""
    cells = [
        [
            report.series.slo
            if report.series.scope == scope
            else f"{report.series.slo}, {report.series.scope.tier}",
            report.state.value,
            _counted(report, report.budget.amount.bad),
            _counted(report, report.budget.allowed),
            _left(report.budget),
            *(_rate(report.burn[span]) for span in ("1d", "30d")),
            moment(report.exhausted_us)[5:16] or "–",
            moment(report.thaw.at_us)[5:16] if report.thaw else "–",
        ]
        for report in found
    ]
    heads = ("objective", "state", ">bad", ">allowed", ">left", ">burn 1d", ">30d")
    dates = ("exhausted", "thaws")
    known = [
        n
        for n, name in enumerate(heads + dates)
        if name not in dates or any(row[n] != "–" for row in cells)
    ]
    in_gpu_hours = [r.series.slo for r in found if r.series.unit is Unit.GPU_US]
    unit = f", {' and '.join(in_gpu_hours)} in GPU-hours" if in_gpu_hours else ""
    print_table(
        f"Budgets of {scope} over 30 days{unit}",
        [(heads + dates)[n] for n in known],
        [[row[n] for n in known] for row in cells],
    )
    for report in found:
        _print_beside(report)
    if found:
        _print_judged(found[0])


def _print_beside(report: Report) -> None:
    """What belongs to a budget and is no number of its row."""
    if report.series.measure == "goodput" and report.budget.amount.total:
        _print_goodput(report)
    if proof := report.durability():
        _print_durability(proof)
    if report.is_over_cautious:
        console().print(f"{report.series.slo}: hardly touched in 30 days; you may ship faster")


def _print_judged(report: Report) -> None:
    """What was adjusted, and the moment and the data that budgets were judged by."""
    out, adjusted, judged = console(), report.facts.adjustments, report.moment
    if adjusted.exclusions or adjusted.reattributions:
        out.print(
            f"adjusted by {len(adjusted.exclusions)} exclusions and"
            f" {len(adjusted.reattributions)} re-attributions (`headway journal`)"
        )
    known = "no data"
    if judged.data_through_us is not None:
        stale = ": too old to decide on" if judged.stale else ""
        known = f"data through {moment(judged.data_through_us)}{stale}"
    out.print(f"as of {moment(judged.as_of_us)} UTC, {known}", style="dim")


def _print_goodput(report: Report) -> None:
    found = report.goodput()
    between = found["between_interruptions_us"]
    out = console()
    out.print(
        f"goodput of {report.series.scope}: whole {percent(found['goodput'])}, with the platform's"
        f" losses alone {percent(found['platform_goodput'])};"
        f" {found['jobs_within']} of {found['jobs']} large jobs within their own budget",
    )
    if between is not None:
        cost = found["cost_of_a_restart_minute"]
        out.print(
            f"an interruption every {duration(between)} of a job's wall-clock: each minute of"
            f" restart costs {cost * 100:.4f} % of goodput"
        )


def _print_durability(found: Durability) -> None:
    if not found.runs:
        return
    proven = sum(run.last_pass_us is not None for run in found.runs)
    tests = found.passes + found.failures
    known = "no restore was tested, so how often one fails is unknown"
    if found.bound is not None:
        known = (
            f"{found.failures} of {tests} restore tests failed: at 95 % confidence one fails in"
            f" less than {percent(found.bound)} of cases"
        )
    console().print(
        f"checkpoint promise: {found.promise.value}; {proven} of {len(found.runs)} large runs"
        f" proven by a restore; {known}",
    )


def _left(budget: Budget) -> str:
    share = budget.remaining_share
    return "–" if share is None else f"{float(share) * 100:.0f} %"


def _counted(report: Report, amount: int) -> str:
    if report.series.unit is Unit.COUNT:
        return f"{amount:,}"
    if report.series.unit is Unit.US:
        return duration(amount)
    return hours(amount)


def _rate(burn: Fraction | None) -> str:
    return "–" if burn is None else f"{float(burn):.2f}"


def print_gate(answer: dict[str, Any]) -> None:
    """The decision, its reasons and what blocks."""
    out = console()
    style = {"allow": "bold green", "deny": "bold red"}.get(answer["decision"], "bold yellow")
    title = f"{answer['decision']}: {answer['change']} on {answer['scope']}"
    out.print(title, style=style)
    out.print(answer["explanation"])
    for warning in answer["warnings"]:
        out.print(f"note: {warning}", style="dim")
    out.print(f"as of {answer['as_of']}, {_through(answer)}", style="dim")


def print_history(answer: dict[str, Any]) -> None:
    """What was decided then, and below it what today's data would have decided."""
    then = [
        [
            _minute(row["hour"]),
            row["state"],
            row["why"],
            _minute(row["decided_at"]),
            _minute(row["data_through"]),
        ]
        for row in answer["recorded"]
    ]
    heads = ("hour (UTC)", "state", "~why", "decided", "data through")
    print_table(f"Known then, of {answer['scope']}: {len(then) or 'nothing'}", heads, then)
    now = [[_minute(row["hour"]), row["state"], row["why"] or "–"] for row in answer["now"]]
    print_table(f"Known now: {len(now) or 'no change'}", ("hour (UTC)", "state", "~why"), now)


def _minute(at: str) -> str:
    """A moment of an answer to the minute; the JSON has all of it."""
    return at[:16].replace("T", " ")


def print_journal(rows: list[dict[str, Any]]) -> None:
    """The journal, an entry a row."""
    heads = (">entry", "at (UTC)", "kind", "scope", "who", "~why", "~status")
    cells = [
        [
            str(row["id"]),
            _minute(row["at"]),
            _entry(row),
            row["scope"],
            row["who"],
            row["why"],
            row["status"],
        ]
        for row in rows
    ]
    print_table(f"Journal: {len(rows) or 'nothing'}", heads, cells)


def _entry(row: dict[str, Any]) -> str:
    """Its kind, with the entry that it is about, the state decided on or the type of change."""
    if row["of"] is not None:
        return f"{row['kind']} {row['of']}"
    what = row["body"].get("state") or row["body"].get("change")
    return f"{row['kind']}: {what}" if what else str(row["kind"])


def print_preview(answer: dict[str, Any]) -> None:
    """What a change would cost, whether it freezes, and when it would be cheaper."""
    jobs = [
        [
            row["job"],
            str(row["gpus"]),
            duration(row["restart_us"]) if row["restart_us"] is not None else "not measured",
            duration(row["checkpoint_interval_us"]),
            duration(row["lost_us"]),
        ]
        for row in answer["jobs"]
    ]
    heads = ("job", ">GPUs", ">its restarts take", ">checkpoint every", ">would lose")
    print_table(f"Running on these nodes: {len(jobs) or 'no job'}", heads, jobs)
    budgets = [
        [
            row["slo"],
            row["scope"],
            row["state"],
            _left_of(row["unit"], row["remaining"]),
            _left_of(row["unit"], row["remaining_after"]),
            "exhausts it" if row["exhausts"] else "–",
        ]
        for row in answer["budgets"]
    ]
    columns = ("objective", "scope", "state", ">left before", ">left after", "")
    print_table("Gating budgets", columns, budgets)
    out = console()
    spent = any(row["state"] == "exhausted" for row in answer["budgets"])
    verdict = {
        True: "would freeze rollouts",
        False: "would exhaust no further budget; what is exhausted holds rollouts already"
        if spent
        else "would not freeze rollouts",
        None: "cannot be judged: the data are too old at that moment (`headway ingest PATH`)",
    }[answer["would_freeze"]]
    out.print(f"{answer['change']} on {', '.join(answer['nodes'])} {verdict}")
    hours = ", ".join(str(row["hour"])[:16] for row in answer["cheapest_hours"])
    out.print(f"least running work in the coming week (UTC): {hours}")
    out.print(f"at {answer['at']}, {_through(answer)}", style="dim")


def _left_of(unit: str, amount: int) -> str:
    return f"{amount:,}" if unit == Unit.COUNT else f"{hours(amount)} GPU-h"


def _through(answer: dict[str, Any]) -> str:
    through = answer["data_through"]
    return "no data" if through is None else f"data through {through}"
