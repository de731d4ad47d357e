"""The demonstration's cluster: 35 simulated days that end at a given hour, with one bad week."""

from pathlib import Path

import duckdb

from metrics.conventions import DAY_US, US_PER_S
from pipelines.simulation.command import simulate_with_progress
from pipelines.simulation.scenario import Rates, Scenario
from pipelines.simulation.workload import guaranteed_gpus

DAYS = 35
JOBS = 16
BAD_WEEK = 4
"""It lies inside the last 30 days, so that it has spent a budget, and what came after it shows."""
RATES = Rates(
    demand=1.0,
    storage_mean_us=80 * DAY_US,
    node_mtbf_us=200 * DAY_US,
    software_mtbf_us=16 * DAY_US,
    bad_week_nodes=60,
    bad_week_storage=60,
)
"""Every budget holds until the bad week, so that one sees a freeze begin."""


def write(folder: Path, until_us: int, jobs: int = JOBS) -> dict[str, int]:
    """Simulate and write the cluster's events into `folder`, a file of each stream a day.

    So many training jobs want to run at any time. Returns the GPUs that each tenant is guaranteed.
    """
    scenario = Scenario(
        seed=1,
        jobs=jobs,
        days=DAYS,
        until_us=until_us,
        step_us=60 * US_PER_S,
        bad_week=BAD_WEEK,
        rates=RATES,
    )
    simulated = folder / ".simulated"
    report = simulate_with_progress(scenario, simulated)
    events = sorted((simulated / "events").iterdir())
    for day in sorted({path.name[:10] for path in events}):
        hours = [path for path in events if path.name.startswith(day)]
        _join_lines(_of(hours, "lifecycle.jsonl"), folder / f"{day}.lifecycle.jsonl")
        _join_tables(_of(hours, "steps.parquet"), folder / f"{day}.steps.parquet")
    return guaranteed_gpus(report.gpus)


def _of(hours: list[Path], ending: str) -> list[Path]:
    return [path for path in hours if path.name.endswith(ending)]


def _join_lines(parts: list[Path], whole: Path) -> None:
    with whole.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())


def _join_tables(parts: list[Path], whole: Path) -> None:
    if parts:
        names = ", ".join(f"'{part}'" for part in parts)
        duckdb.sql(f"copy (from read_parquet([{names}])) to '{whole}'")
