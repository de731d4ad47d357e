"""What is on record as tables for people; what a number means stands in its heading or beside it.

What it means for rollouts is printed by `decision_tables`.
"""

from typing import TYPE_CHECKING, Any

from answers import questions
from answers.mart import Meta
from metrics.policy import Policy
from pipelines.show import bar, console, duration, moment, percent, print_table, reached, text

if TYPE_CHECKING:  # Dagster takes seconds to import: only commands that run it do
    from pipelines.defs.site import Report
    from pipelines.derive import Refreshed


SUMMARY = ("path", "source", "read", "new", "duplicate", "dropped_fields", "quarantined")


def print_ingested(rows: list[dict[str, Any]]) -> None:
    """What became of each file's records."""
    cells = [
        [row["path"], row["source"], "known: ingested before", "", "", "", ""]
        if row["known"]
        else [str(row[name]) for name in SUMMARY]
        for row in rows
    ]
    heads = ("~file", "source", ">read", ">new", ">duplicate", ">dropped fields", ">quarantined")
    print_table("Ingested", heads, cells)


def print_notes(report: "Report") -> None:
    """What else a run has to say, on stderr."""
    notes = console(stderr=True)
    for path in report.skipped:
        notes.print(f"passed over {path}: no source recognises it", style="yellow")
    if any(summary.quarantined for summary in report.summaries):
        notes.print("`headway quality` shows what was quarantined and why", style="yellow")


def print_refreshed(refreshed: "Refreshed | None", as_of_given: bool = False) -> None:
    """How much a refresh derived, and as of when."""
    if refreshed is not None:
        console().print(
            f"jobs derived: {refreshed.jobs}, job-hours: {refreshed.hours};"
            f" {_as_of(refreshed.as_of_us, as_of_given)}"
        )
        if refreshed.folded_steps:
            console().print(
                f"folded into the ledger and dropped, being older than the policy keeps them:"
                f" {refreshed.folded_steps:,} steps"
            )


def print_ledger(rows: list[dict[str, Any]]) -> None:
    """The ledger, row by row."""
    cells = [
        [
            row["job"],
            moment(row["hour_us"]),
            row["category"],
            row["component"],
            row["cause"],
            duration(row["us"]),
        ]
        for row in rows
    ]
    heads = ("job", "hour (UTC)", "category", "component", "cause", ">time")
    print_table("Ledger", heads, cells)


def print_job(answer: dict[str, Any]) -> None:
    """A job's facts, and a bar for each thing that its wall-clock went to besides useful steps."""
    out = console()
    out.print(f"Job {answer['job']}", style="bold")
    for name, value in _job_facts(answer):
        out.print(f"  {name:<12} {value}")
    if answer["gap_us"] is None:
        out.print("It has no wall-clock yet: no allocation and no step was recorded.")
        return
    what = "Not useful" if answer["instrumented"] else "Where it went"
    title = f"{what}: {duration(answer['gap_us'])}, residual {answer['residual_us']} µs"
    heads = ("category", "component", "cause", ">time", ">of wall", "")
    print_table(title, heads, _job_losses(answer["loss"], answer["wall_us"]))


def _job_facts(answer: dict[str, Any]) -> list[tuple[str, str]]:
    found = [
        ("state", answer["state"]),
        ("tier", text(answer["tier"])),
        ("tenant", text(answer["tenant"])),
        ("GPUs", "not known" if answer["gpus"] is None else str(answer["gpus"])),
        ("wall-clock", duration(answer["wall_us"])),
        ("useful", duration(answer["useful_us"]) if answer["instrumented"] else "unknown"),
        ("goodput", percent(answer["goodput"])),
    ]
    if answer["state"] == "pending":
        found.append(("why unknown", "it has not run yet"))
    elif not answer["instrumented"]:
        found.append(("why unknown", "no step records: the job is not instrumented"))
    return found


def _job_losses(loss: list[dict[str, Any]], wall_us: int) -> list[list[str]]:
    """A row for each of at least a thousandth of the wall, and one for all that is smaller."""
    shown = [row for row in loss if row["us"] * 1000 >= wall_us]
    rest = loss[len(shown) :]
    if len(rest) > 2:
        us = sum(row["us"] for row in rest)
        shown.append({"category": f"{len(rest)} smaller", "component": "", "cause": "", "us": us})
    else:
        shown += rest
    return [
        [
            row["category"],
            row["component"],
            row["cause"],
            duration(row["us"]),
            percent(questions.share(row["us"], wall_us)),
            bar(questions.share(row["us"], wall_us) or 0.0),
        ]
        for row in shown
    ]


def print_as_of(meta: Meta) -> None:
    """As of when the answers above hold."""
    console().print(_as_of(meta.as_of_us, meta.as_of_given), style="dim")


def _as_of(us: int | None, is_given: bool) -> str:
    if us is None:
        return "nothing is stored yet"
    given = " (as asked; later records were not read)" if is_given else ""
    return f"data as of {moment(us)} UTC{given}"


def print_queue(answer: dict[str, dict[str, Any]], policy: Policy) -> None:
    """Queue waits, a row a tier."""
    cells = [
        [
            tier,
            str(row["jobs"]),
            str(row["censored"]),
            *(reached(row[name], row["max_us"]) for name in questions.QUANTILES),
            duration(row["max_us"]),
            _target(policy, tier, row["target_us"]),
            "–" if row["target_us"] is None else percent(row["within_target"]),
        ]
        for tier, row in answer.items()
    ]
    heads = (
        "tier",
        ">jobs",
        ">not started",
        ">p50",
        ">p90",
        ">p95",
        ">p99",
        ">longest",
        ">target",
        ">within",
    )
    print_table("Queue waits", heads, cells)


def _target(policy: Policy, tier: str, us: int | None) -> str:
    if us is not None:
        return duration(us)
    return "best effort" if policy.tier(tier) else "not in the policy"


def print_restarts(rows: list[dict[str, Any]], times: dict[str, Any]) -> None:
    """Restarts, a row each, and their quantiles below."""
    cells = [
        [
            row["job"],
            moment(row["detected_us"]),
            row["cause"],
            row["outcome"],
            duration(row["time_to_restart_us"]) if row["recovered_us"] else "not recovered",
            *(duration(row["components"][part]) for part in questions.RESTART_COMPONENTS),
            text(row["lost_steps"]),
        ]
        for row in rows
    ]
    heads = (
        "job",
        "detected (UTC)",
        "cause",
        "outcome",
        ">to restart",
        ">detect",
        ">requeue",
        ">launch",
        ">load",
        ">first step",
        ">lost steps",
    )
    out = console()
    print_table("Restarts", heads, cells)
    out.print(
        f"restarts: {times['restarts']}, not recovered: {times['censored']};"
        f" p50 {reached(times['p50_us'], times['max_us'])},"
        f" p90 {reached(times['p90_us'], times['max_us'])}",
    )


def print_quality(answer: dict[str, Any]) -> None:
    """Coverage, quarantine by reason with an example of each, and what looks odd."""
    out = console()
    out.print(
        f"Coverage (instrumented share of GPU time): {percent(answer['coverage']['share'])}",
        style="bold",
    )
    rejected = [
        [
            row["reason"],
            str(row["records"]),
            row["example"],
            row["example_path"],
            text(row["example_line"]),
        ]
        for row in answer["quarantine"]
    ]
    reasons = ("reason", ">records", "~for example", "~in", ">line")
    print_table(f"Quarantine, by reason: {len(rejected) or 'nothing'}", reasons, rejected)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in answer["findings"]:
        kinds.setdefault(row["finding"], []).append(row)
    found = [
        [
            kind,
            str(len({row["job"] for row in rows})),
            rows[0]["job"],
            text(rows[0]["attempt"]),
            rows[0]["detail"],
        ]
        for kind, rows in kinds.items()
    ]
    heads = ("finding", ">jobs", "for example", ">attempt", "~what it means there")
    print_table(f"Findings: {len(answer['findings'])}", heads, found)
