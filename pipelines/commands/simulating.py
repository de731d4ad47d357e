"""The command that makes up a cluster: simulate."""

from pathlib import Path
from typing import Annotated

import typer

from answers.home import Home
from pipelines.commands.options import HomeOption, moment_us

SeedOption = Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")]
JobsOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="Training jobs that want to run at any time. One that ends is followed by another;"
        " sweeps, evaluations and interactive sessions come on top.",
    ),
]
DaysOption = Annotated[int, typer.Option(min=1, max=366, help="Days of simulated time.")]
StepOption = Annotated[
    float, typer.Option(min=0.5, max=3600, help="Typical length of a training step.")
]
UntilOption = Annotated[
    str, typer.Option(help="When the simulated time ends (RFC 3339 with an offset).")
]
BadWeekOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The week, from 1, in which nodes and storage fail often:"
        " enough to spend an error budget. Default: none.",
    ),
]
DisorderOption = Annotated[
    str,
    typer.Option(
        help="What happens to records on their way. none: nothing. delivery: late, twice,"
        " shuffled, torn copies; no number changes. skew: also, clocks that are off."
        " loss: also, records that never arrive."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="New directory to write to: events/ and truth/."
        " Default: simulated/ in the site's directory.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command()(simulate)


def simulate(
    seed: SeedOption = 1,
    jobs: JobsOption = 8,
    days: DaysOption = 3,
    step_seconds: StepOption = 60.0,
    until: UntilOption = "2026-11-29T00:00:00Z",
    bad_week: BadWeekOption = None,
    disorder: DisorderOption = "none",
    out: OutOption = None,
    home: HomeOption = None,
) -> None:
    """Make up a shared cluster: its events to ingest, and the truth to compare with."""
    from pipelines.simulation.command import SimulationOptions, run_simulation

    ends_us = moment_us(until, "--until")
    run_simulation(
        SimulationOptions(seed, jobs, days, step_seconds, ends_us, bad_week, disorder),
        out or Home.at(home).root / "simulated",
    )
