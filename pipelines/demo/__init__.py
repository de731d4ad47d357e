"""The demonstration: a real cluster's sample and a run made by hand, answered by Headway."""

import json
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from answers import budgets, gate, questions
from answers.facts import Facts
from answers.home import Home
from answers.mart import Mart, open_mart
from metrics.adjustments import Adjustments
from metrics.conventions import US_PER_S
from metrics.policy import Policy
from metrics.rulings import Rulings
from metrics.scope import Scope
from pipelines import show, tables
from pipelines.demo import three_weeks
from pipelines.progress import Progress
from pipelines.run import Ingestion, run

GOODPUT_TARGET_PERCENT = 90
DETAILED_JOBS = (three_weeks.JOB, "19")


def run_demo(home: Home) -> None:
    """Ingest the sample and the run made by hand, derive, publish, and print what came of it."""
    with (
        tempfile.TemporaryDirectory() as made,
        as_file(files("pipelines.demo") / "slurm-training") as sample,
        Progress() as progress,
    ):
        _write(Path(made), *three_weeks.records())
        run(home, progress, Ingestion([sample, Path(made)]))
    with open_mart(home) as mart:
        _print_goodput(mart)
        _print_restarts(mart, home.policy())
        tables.print_queue(questions.queue(mart, home.policy()))
        show.console().print(
            "\nCheckpoint durability: unproven, no restore test was recorded.", style="bold"
        )
        for job in DETAILED_JOBS:
            tables.print_job(questions.job(mart, job))
        _print_allowance(questions.job(mart, three_weeks.JOB))
        tables.print_as_of(mart.meta())
        _print_decision(mart, home.policy())


def _write(folder: Path, lifecycle: list[Any], steps: list[Any]) -> None:
    for stream, found in (("lifecycle", lifecycle), ("steps", steps)):
        text = "".join(json.dumps(record) + "\n" for record in found)
        (folder / f"three-weeks.{stream}.jsonl").write_text(text, encoding="utf-8")


def _print_goodput(mart: Mart) -> None:
    cells = [
        [
            row["job"],
            show.text(row["name"]),
            show.text(row["tier"]),
            show.text(row["gpus"]),
            show.duration(row["wall_us"]),
            show.percent(row["goodput"]),
            show.bar(row["goodput"] or 0.0, width=10),
            _losses(row),
        ]
        for row in questions.jobs(mart)
    ]
    heads = ("job", "name", "tier", ">GPUs", ">wall-clock", ">goodput", "", "~lost to")
    show.print_table("Goodput by job", heads, cells)


def _losses(job: dict[str, Any]) -> str:
    if not job["instrumented"]:
        return "no step records"
    shares = {name: questions.share(us, job["wall_us"]) for name, us in job["loss"].items()}
    return ", ".join(f"{name} {show.percent(part)}" for name, part in shares.items())


def _print_restarts(mart: Mart, policy: Policy) -> None:
    times = questions.restart_times(mart, policy)
    show.console().print(
        f"\nTime to restart: {times['restarts']} restarts,"
        f" p50 {show.reached(times['p50_us'], times['max_us'])},"
        f" p90 {show.reached(times['p90_us'], times['max_us'])};"
        f" {show.percent(times['within'])} in under"
        f" {show.duration(policy.restart_limit_us)}\n",
        style="bold",
    )


def _print_allowance(answer: dict[str, Any]) -> None:
    wall_us, gap_us = answer["wall_us"], answer["gap_us"]
    allowed_us = wall_us * (100 - GOODPUT_TARGET_PERCENT) // 100
    show.console().print(
        f"A goodput of {GOODPUT_TARGET_PERCENT} % would have allowed job {answer['job']} a loss of"
        f" {_hours(allowed_us)}; it lost {_hours(gap_us)}: {_hours(gap_us - allowed_us)} over.",
        style="bold",
    )


def _print_decision(mart: Mart, policy: Policy) -> None:
    """What the budgets and the gate said on the day that the run made by hand ended."""
    as_of_us = round((three_weeks.START + three_weeks.LENGTH).timestamp()) * US_PER_S
    facts = Facts(mart, policy, Adjustments())
    show.console().print("\nOn the day that three-weeks ended:", style="bold")
    tables.print_budgets(Scope(), budgets.reports(facts, Scope(), as_of_us))
    question = gate.Question("firmware", Scope(), as_of_us)
    tables.print_gate(gate.decide(facts, Rulings([], policy), question))


def _hours(us: int) -> str:
    return f"{us / (3600 * US_PER_S):.1f} h"
