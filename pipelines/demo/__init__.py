"""The demonstration: a simulated cluster, a real cluster's sample and a run made by hand."""

import json
import re
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from answers import budgets, gate, questions
from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import Mart, open_mart
from metrics.budget import Amount, Budget
from metrics.conventions import HOUR_US, US_PER_S
from metrics.policy import DEFAULT_POLICY_FILE, Policy
from metrics.rulings import Rulings
from metrics.scope import Scope
from pipelines import show
from pipelines.commands import decision_tables, tables
from pipelines.demo import shared_cluster, three_weeks
from pipelines.progress import Progress
from pipelines.run import Ingestion, run

LARGEST = 12
"""So many jobs are printed, those that held most GPU-time."""
DETAILED_JOBS = (three_weeks.JOB, "19")


def run_demo(home: Home, until_us: int | None = None) -> None:
    """Ingest all three, derive, publish, and print what came of it.

    The simulated time ends at `until_us`, by default the hour that began last. A home in which the
    demonstration ran before keeps that moment: the same jobs at another time would be other jobs.
    """
    with (
        tempfile.TemporaryDirectory() as made,
        as_file(files("pipelines.demo") / "slurm-training") as sample,
    ):
        _write(Path(made), *three_weeks.records())
        _guarantee(home, shared_cluster.write(Path(made), _moment_us(home, until_us)))
        with Progress() as progress:
            run(home, progress, Ingestion([sample, Path(made)]))
    _print_answers(home)


def _guarantee(home: Home, shares: dict[str, int]) -> None:
    """Put the simulated tenants’ shares into the policy of a home that nobody else uses."""
    if home.policy_file.exists() or home.warehouse.exists():
        return
    default = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    named = ", ".join(f"{tenant}: {gpus}" for tenant, gpus in shares.items())
    text = re.sub(r"^shares: \{\}$", f"shares: {{{named}}}", default, flags=re.MULTILINE)
    home.policy_file.write_text(text, encoding="utf-8")


def _moment_us(home: Home, given_us: int | None) -> int:
    note = home.root / "demo.json"
    if note.exists():
        return int(json.loads(note.read_text(encoding="utf-8"))["until_us"])
    until_us = now_us() // HOUR_US * HOUR_US if given_us is None else given_us
    note.write_text(json.dumps({"until_us": until_us}) + "\n", encoding="utf-8")
    return until_us


def _print_answers(home: Home) -> None:
    with open_mart(home) as mart:
        _print_decision(home, mart)
        _print_goodput(mart)
        _print_restarts(mart, home.policy())
        tables.print_queue(questions.queue(mart, home.policy()), home.policy())
        for job in DETAILED_JOBS:
            tables.print_job(questions.job(mart, job))
        _print_allowance(questions.job(mart, three_weeks.JOB), home.policy())
        tables.print_as_of(mart.meta())


def _print_decision(home: Home, mart: Mart) -> None:
    """The budgets as of the data, and whether a firmware rollout may start."""
    rulings = Rulings(Journal(home).entries(), home.policy())
    facts = Facts(mart, rulings.policy, rulings.adjustments(now_us()))
    fleet, as_of_us = Scope(), facts.data_through_us or now_us()
    decision_tables.print_budgets(fleet, budgets.reports(facts, fleet, as_of_us))
    decision_tables.print_gate(
        gate.decide(facts, rulings, gate.Question("firmware", fleet, as_of_us))
    )


def _write(folder: Path, lifecycle: list[Any], steps: list[Any]) -> None:
    for stream, found in (("lifecycle", lifecycle), ("steps", steps)):
        text = "".join(json.dumps(record) + "\n" for record in found)
        (folder / f"three-weeks.{stream}.jsonl").write_text(text, encoding="utf-8")


def _print_goodput(mart: Mart) -> None:
    found = sorted(questions.jobs(mart), key=lambda row: -row["wall_us"] * (row["gpus"] or 1))
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
        for row in found[:LARGEST]
    ]
    heads = ("job", "name", "tier", ">GPUs", ">wall-clock", ">goodput", "", "~lost to")
    show.print_table(f"Goodput of the largest of {len(found)} jobs", heads, cells)


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


def _print_allowance(answer: dict[str, Any], policy: Policy) -> None:
    target = policy.target("goodput")
    if target is None:
        return
    allowed_us = Budget(Amount(answer["wall_us"]), target).allowed
    gap_us = answer["gap_us"]
    show.console().print(
        f"A goodput of {show.percent(float(target))} would have allowed job {answer['job']} a loss"
        f" of {_hours(allowed_us)}; it lost {_hours(gap_us)}: {_hours(gap_us - allowed_us)} over.",
        style="bold",
    )


def _hours(us: int) -> str:
    return f"{us / (3600 * US_PER_S):.1f} h"
