"""Scenarios that take a second or two."""

from pathlib import Path

from pipelines.simulation.engine import simulate
from pipelines.simulation.scenario import Disorder, Scenario

UNTIL_US = 1_795_910_400 * 10**6
"""2026-11-29, in µs."""
S_US = 10**6


def small(
    seed: int,
    days: int = 4,
    jobs: int = 8,
    step_s: float = 400,
    bad_week: int | None = None,
    disorder: Disorder = Disorder.NONE,
) -> Scenario:
    """A scenario that takes a second or two."""
    return Scenario(
        seed, jobs, days, UNTIL_US, round(step_s * S_US), bad_week=bad_week, disorder=disorder
    )


def made(scenario: Scenario, out: Path) -> Path:
    """The folder of a scenario, simulated now."""
    simulate(scenario, out)
    return out
