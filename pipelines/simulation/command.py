"""`headway simulate`: options checked, a progress bar, and a summary of what was made."""

from dataclasses import dataclass
from pathlib import Path

from rich import progress as rich_progress

from metrics.conventions import DAY_US, US_PER_S
from metrics.errors import UsageError
from metrics.moments import EARLIEST_US
from pipelines import show
from pipelines.simulation.engine import Report, simulate
from pipelines.simulation.scenario import Disorder, Scenario


@dataclass(frozen=True)
class SimulationOptions:
    """The options as the command line was given them."""

    seed: int
    jobs: int
    days: int
    step_seconds: float
    until_us: int
    bad_week: int | None
    disorder: str


def run_simulation(options: SimulationOptions, out: Path) -> None:
    """Simulate into `out`, and say on stdout how much that was."""
    scenario = _scenario(options)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: there is something already; name a new directory")
    _print_report(simulate_with_progress(scenario, out))


def _scenario(options: SimulationOptions) -> Scenario:
    try:
        disorder = Disorder(options.disorder)
    except ValueError as e:
        known = ", ".join(Disorder)
        raise UsageError(f"--disorder {options.disorder}: not one of {known}") from e
    if options.bad_week is not None and 7 * (options.bad_week - 1) >= options.days:
        raise UsageError(
            f"--bad-week {options.bad_week}: begins after the {options.days} days of --days"
        )
    if options.until_us - options.days * DAY_US < EARLIEST_US:
        raise UsageError(f"--days {options.days}: would begin before the year 2000")
    return Scenario(
        seed=options.seed,
        jobs=options.jobs,
        days=options.days,
        until_us=options.until_us,
        step_us=round(options.step_seconds * US_PER_S),
        bad_week=options.bad_week,
        disorder=disorder,
    )


def simulate_with_progress(scenario: Scenario, out: Path) -> Report:
    """Simulate into `out` with a progress bar on stderr, where that is a terminal."""
    console = show.console(stderr=True)
    bar = rich_progress.Progress(
        rich_progress.TextColumn("simulating"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("simulating")
        return simulate(
            scenario,
            out,
            lambda done_us, total_us: bar.update(task, completed=done_us, total=total_us),
        )


def _print_report(report: Report) -> None:
    show.console().print(
        f"{report.jobs:,} jobs on {report.gpus:,} GPUs: {report.steps:,} steps,"
        f" {report.events:,} lifecycle events, {report.restarts:,} restarts",
        soft_wrap=True,
    )
