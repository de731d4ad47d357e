"""The commands that plan checkpoints: how often to save, and which to keep."""

from typing import Annotated, Any

import typer

from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import open_mart
from answers.planning import retention
from answers.planning.answer import answer
from answers.planning.measured import Measured, measured
from answers.planning.plan import Given, Plan
from metrics.errors import UsageError
from metrics.rulings import Rulings
from pipelines import show
from pipelines.commands import plan_tables
from pipelines.commands.options import HomeOption, size
from pipelines.show import Format

MINUTE_S = 60
HOUR_S = 3600
LONGEST_RUN_H = 876_600
"""A hundred years."""

MeasuredJobOption = Annotated[
    str | None, typer.Option("--job", help="Take from this job's records what is not said.")
]
BytesOption = Annotated[
    str | None, typer.Option("--bytes", help="Size of a checkpoint, like 1.4TB.")
]
PlanFormat = Annotated[
    Format, typer.Option("--format", help="table for people, json for programs.")
]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command("plan-checkpoint")(plan_checkpoint)
    app.command("plan-retention")(plan_retention)


def plan_checkpoint(
    job: MeasuredJobOption = None,
    save_seconds: Annotated[
        float | None, typer.Option("--save-seconds", help="What a save takes, with one writer.")
    ] = None,
    mtbf_hours: Annotated[
        float | None, typer.Option("--mtbf-hours", help="Mean time between failures of the job.")
    ] = None,
    restart_minutes: Annotated[
        float | None,
        typer.Option("--restart-minutes", help="From a failure to the next completed step."),
    ] = None,
    step_seconds: Annotated[
        float | None, typer.Option("--step-seconds", help="Length of a step.")
    ] = None,
    writers: Annotated[
        int, typer.Option("--writers", min=1, help="Writers that share a save evenly.")
    ] = 1,
    blocking_fraction: Annotated[
        float | None,
        typer.Option(
            "--blocking-fraction",
            help="Share of a save that blocks the loop (asynchronous: only the snapshot).",
        ),
    ] = None,
    bytes_: BytesOption = None,
    bandwidth: Annotated[
        str | None,
        typer.Option("--bandwidth", help="What the file system takes, like 100GB (a second)."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Jobs that save alike on that file system.")
    ] = 1,
    price: Annotated[float | None, typer.Option("--price", help="Of a GPU-hour on demand.")] = None,
    spot_price: Annotated[
        float | None, typer.Option("--spot-price", help="Of a GPU-hour on spot capacity.")
    ] = None,
    spot_mtbf_minutes: Annotated[
        float | None,
        typer.Option("--spot-mtbf-minutes", help="Mean time between preemptions on spot."),
    ] = None,
    warning_seconds: Annotated[
        float | None,
        typer.Option("--warning-seconds", help="How long before a preemption it is announced."),
    ] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs of the job.")] = None,
    useful_hours: Annotated[
        float | None, typer.Option("--useful-hours", help="Hours of useful steps that it needs.")
    ] = None,
    home: HomeOption = None,
    how: PlanFormat = Format.TABLE,
) -> None:
    """How often to save: the interval that loses least, what it costs, when to revisit it."""
    site = Home.at(home)
    given = Given(
        save_seconds,
        _times(mtbf_hours, HOUR_S),
        _times(restart_minutes, MINUTE_S),
        step_seconds,
        writers,
        blocking_fraction,
        size(bytes_, "--bytes"),
        size(bandwidth, "--bandwidth"),
        jobs,
        price,
        spot_price,
        _times(spot_mtbf_minutes, MINUTE_S),
        warning_seconds,
        gpus,
        useful_hours,
    )
    found = answer(Plan.of(given, _measured(site, job, gpus), site.policy()))
    _print(found, how, plan_tables.print_plan)


def plan_retention(
    bytes_: BytesOption = None,
    interval_seconds: Annotated[
        float | None, typer.Option("--interval-seconds", help="Time between checkpoints.")
    ] = None,
    run_hours: Annotated[
        float | None, typer.Option("--run-hours", help="How long the run lasts.")
    ] = None,
    job: MeasuredJobOption = None,
    newest: Annotated[
        int | None, typer.Option("--newest", min=1, max=10_000, help="How many of the newest.")
    ] = None,
    hourly: Annotated[
        int | None,
        typer.Option("--hourly", min=0, max=10_000, help="Of how many hours the newest of each."),
    ] = None,
    daily: Annotated[
        int | None,
        typer.Option("--daily", min=0, max=10_000, help="Of how many days the newest of each."),
    ] = None,
    milestone_hours: Annotated[
        int | None,
        typer.Option("--milestone-hours", min=1, help="One of so many hours stays for good."),
    ] = None,
    home: HomeOption = None,
    how: PlanFormat = Format.TABLE,
) -> None:
    """Which checkpoints to keep, what each is for, and the storage that they need."""
    site = Home.at(home)
    found = _measured(site, job, None)
    each = size(bytes_, "--bytes") or (found.size if found else None)
    interval_s = interval_seconds or (found.interval_s if found else None)
    missing = [
        option
        for option, value in (
            ("--bytes", each),
            ("--interval-seconds", interval_s),
            ("--run-hours", run_hours),
        )
        if value is None
    ]
    if missing or each is None or interval_s is None or run_hours is None:
        raise UsageError(f"say {', '.join(missing)}; --job tells the first two where recorded")
    _check("--interval-seconds", interval_s, LONGEST_RUN_H * HOUR_S)
    _check("--run-hours", run_hours, LONGEST_RUN_H)
    said = {
        "newest": newest,
        "hourly": hourly,
        "daily": daily,
        "milestone_hours": milestone_hours,
    }
    keep = site.policy().planning.keep.model_copy(
        update={name: value for name, value in said.items() if value is not None}
    )
    plan = retention.plan(int(each), interval_s, run_hours * HOUR_S, keep)
    _print(plan, how, plan_tables.print_retention)


def _check(option: str, value: float, most: float) -> None:
    if not 0 < value <= most:  # no number is greater than NaN
        raise UsageError(f"{option} {value}: say a number above 0, up to {most:,.0f}")


def _times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit


def _measured(site: Home, job: str | None, gpus: int | None) -> Measured | None:
    if job is None:
        return None
    rulings = Rulings(Journal(site).entries(), site.policy())
    with open_mart(site) as mart:
        facts = Facts(mart, rulings.policy, rulings.adjustments(now_us()))
        return measured(facts, job, gpus)


def _print(found: dict[str, Any], how: Format, as_tables: Any) -> None:
    if how is Format.JSON:
        show.print_json(found)
    elif how is Format.TABLE:
        as_tables(found)
    else:
        raise UsageError(f"--format {how.value}: a plan is printed as table or json")
