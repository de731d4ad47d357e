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
from pipelines.commands.options import HomeOption, TableOrJsonOption, size
from pipelines.show import Format

MINUTE_S = 60
HOUR_S = 3600
LONGEST_RUN_H = 876_600
"""A hundred years."""
BY_POLICY = " Default: the policy's (planning.keep)."

MeasuredJobOption = Annotated[
    str | None, typer.Option("--job", help="Take from this job's records what is not said.")
]
BytesOption = Annotated[
    str | None, typer.Option("--bytes", help="Size of a checkpoint, like 1.4TB.")
]

SaveOption = Annotated[
    float | None, typer.Option("--save-seconds", help="What a save takes, with one writer.")
]
MtbfOption = Annotated[
    float | None, typer.Option("--mtbf-hours", help="Mean time between failures of the job.")
]
RestartOption = Annotated[
    float | None,
    typer.Option("--restart-minutes", help="From a failure to the next completed step."),
]
StepOption = Annotated[float | None, typer.Option("--step-seconds", help="Length of a step.")]
WritersOption = Annotated[
    int, typer.Option("--writers", min=1, help="Writers that share a save evenly.")
]
BlockingOption = Annotated[
    float | None,
    typer.Option(
        "--blocking-fraction",
        help="Share of a save that blocks the loop (asynchronous: only the snapshot)."
        " Default: as measured of --job, else all of it.",
    ),
]
BandwidthOption = Annotated[
    str | None,
    typer.Option("--bandwidth", help="What the file system takes, like 100GB (a second)."),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", min=1, help="Jobs that save alike on that file system.")
]
PriceOption = Annotated[float | None, typer.Option("--price", help="Of a GPU-hour on demand.")]
SpotPriceOption = Annotated[
    float | None, typer.Option("--spot-price", help="Of a GPU-hour on spot capacity.")
]
SpotMtbfOption = Annotated[
    float | None,
    typer.Option("--spot-mtbf-minutes", help="Mean time between preemptions on spot."),
]
WarningOption = Annotated[
    float | None,
    typer.Option("--warning-seconds", help="How long before a preemption it is announced."),
]
GpusOption = Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs of the job.")]
UsefulOption = Annotated[
    float | None, typer.Option("--useful-hours", help="Hours of useful steps that it needs.")
]

IntervalOption = Annotated[
    float | None, typer.Option("--interval-seconds", help="Time between checkpoints.")
]
RunOption = Annotated[float | None, typer.Option("--run-hours", help="How long the run lasts.")]
NewestOption = Annotated[
    int | None,
    typer.Option("--newest", min=1, max=10_000, help="How many of the newest." + BY_POLICY),
]
HourlyOption = Annotated[
    int | None,
    typer.Option(
        "--hourly", min=0, max=10_000, help="Of how many hours the newest of each." + BY_POLICY
    ),
]
DailyOption = Annotated[
    int | None,
    typer.Option(
        "--daily", min=0, max=10_000, help="Of how many days the newest of each." + BY_POLICY
    ),
]
MilestoneOption = Annotated[
    int | None,
    typer.Option(
        "--milestone-hours", min=1, help="One of so many hours stays for good." + BY_POLICY
    ),
]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command("plan-checkpoint")(plan_checkpoint)
    app.command("plan-retention")(plan_retention)


def plan_checkpoint(
    job: MeasuredJobOption = None,
    save_seconds: SaveOption = None,
    mtbf_hours: MtbfOption = None,
    restart_minutes: RestartOption = None,
    step_seconds: StepOption = None,
    writers: WritersOption = 1,
    blocking_fraction: BlockingOption = None,
    bytes_: BytesOption = None,
    bandwidth: BandwidthOption = None,
    jobs: JobsOption = 1,
    price: PriceOption = None,
    spot_price: SpotPriceOption = None,
    spot_mtbf_minutes: SpotMtbfOption = None,
    warning_seconds: WarningOption = None,
    gpus: GpusOption = None,
    useful_hours: UsefulOption = None,
    home: HomeOption = None,
    how: TableOrJsonOption = Format.TABLE,
) -> None:
    """How often to save: the interval that loses least, what it costs, when to revisit it."""
    given = Given(
        save_s=save_seconds,
        mtbf_s=_times(mtbf_hours, HOUR_S),
        restart_s=_times(restart_minutes, MINUTE_S),
        step_s=step_seconds,
        writers=writers,
        blocking_fraction=blocking_fraction,
        size=size(bytes_, "--bytes"),
        bandwidth=size(bandwidth, "--bandwidth"),
        jobs=jobs,
        price=price,
        spot_price=spot_price,
        spot_mtbf_s=_times(spot_mtbf_minutes, MINUTE_S),
        warning_s=warning_seconds,
        gpus=gpus,
        useful_h=useful_hours,
    )
    _print(answer(_planned(Home.at(home), job, given)), how, plan_tables.print_plan)


def _planned(site: Home, job: str | None, given: Given) -> Plan:
    return Plan.of(given, _measured(site, job, given.gpus), site.policy())


def plan_retention(
    bytes_: BytesOption = None,
    interval_seconds: IntervalOption = None,
    run_hours: RunOption = None,
    job: MeasuredJobOption = None,
    newest: NewestOption = None,
    hourly: HourlyOption = None,
    daily: DailyOption = None,
    milestone_hours: MilestoneOption = None,
    home: HomeOption = None,
    how: TableOrJsonOption = Format.TABLE,
) -> None:
    """Which checkpoints to keep, what each is for, and the storage that they need."""
    site = Home.at(home)
    found = _measured(site, job, None)
    each, interval_s, run_h = _all_said(
        {
            "--bytes": size(bytes_, "--bytes") or (found.size if found else None),
            "--interval-seconds": interval_seconds or (found.interval_s if found else None),
            "--run-hours": run_hours,
        },
        job,
    )
    _check("--interval-seconds", interval_s, LONGEST_RUN_H * HOUR_S)
    _check("--run-hours", run_h, LONGEST_RUN_H)
    said = {
        "newest": newest,
        "hourly": hourly,
        "daily": daily,
        "milestone_hours": milestone_hours,
    }
    keep = site.policy().planning.keep.model_copy(
        update={name: value for name, value in said.items() if value is not None}
    )
    _print(
        retention.plan(int(each), interval_s, run_h * HOUR_S, keep),
        how,
        plan_tables.print_retention,
    )


def _all_said(values: dict[str, float | None], job: str | None) -> list[float]:
    """The values by their options. Raises UsageError that names all that are missing."""
    missing = [option for option, value in values.items() if value is None]
    if missing:
        told = (
            f"the records of {job} do not tell"
            if job
            else "--job tells the first two where recorded"
        )
        raise UsageError(f"say {', '.join(missing)}; {told}")
    return [value for value in values.values() if value is not None]


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
