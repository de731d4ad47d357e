"""Disorder on the way of the records: what it changes, and what it leaves."""

import filecmp
from collections import Counter
from pathlib import Path

import harness
import product
import pytest
from scenarios import made, small

from pipelines.simulation.disorder import LARGEST_SKEW_US, skew_us
from pipelines.simulation.scenario import Disorder

LEVELS = [level for level in Disorder if level is not Disorder.NONE]
SEED = 7


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Disorder, Path]:
    """One scenario at every level of disorder."""
    return {
        level: made(
            small(SEED, days=1, bad_week=1, disorder=level), tmp_path_factory.mktemp(level.value)
        )
        for level in Disorder
    }


@pytest.mark.parametrize("level", LEVELS)
def test_the_truth_is_the_same_at_every_level(
    level: Disorder, folders: dict[Disorder, Path]
) -> None:
    orderly, disorderly = folders[Disorder.NONE] / "truth", folders[level] / "truth"
    names = [path.name for path in orderly.glob("*.parquet")]
    assert len(names) == 9  # a file for each kind of row
    assert filecmp.cmpfiles(orderly, disorderly, names, shallow=False)[0] == names


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_repeats_tears_and_delays_records(
    level: Disorder, folders: dict[Disorder, Path]
) -> None:
    seen: Counter[str] = Counter()
    with harness.fresh_warehouse() as con:
        for path in product.event_files(folders[level]):
            summary = harness.ingest_one(con, path)
            seen["duplicate"] += summary.duplicate
            seen["torn"] += summary.quarantined
            seen["late"] += ".late." in path.name
            seen["dropped"] += summary.dropped_fields
    assert min(seen[name] for name in ("duplicate", "torn", "late")) > 0
    assert seen["dropped"] == 0


def test_a_skewed_clock_leaves_the_other_jobs_alone(
    folders: dict[Disorder, Path], tmp_path: Path
) -> None:
    scenario = small(SEED, days=1, bad_week=1, disorder=Disorder.SKEW)
    found = product.derived_at_once(folders[Disorder.SKEW], tmp_path)["ledger"]
    truth = product.truth(folders[Disorder.NONE])["ledger"]
    open_hour = max(hour for rows in truth.values() for hour, *_ in rows)
    skewed = {job for job in truth if skew_us(scenario, job)}
    assert skewed and skewed != truth.keys()
    assert any(found.get(job) != truth[job] for job in skewed)
    for job in truth.keys() - skewed:
        # A clock that is ahead can move as_of, and with it the end of jobs that have not ended.
        assert _before(found[job], open_hour) == _before(truth[job], open_hour)


def _before(
    rows: dict[tuple[int, str, str, str], int], hour_us: int
) -> dict[tuple[int, str, str, str], int]:
    return {key: us for key, us in rows.items() if key[0] < hour_us}


def test_a_skewed_clock_moves_the_wall_of_a_job_by_no_more_than_the_skew(
    folders: dict[Disorder, Path], tmp_path: Path
) -> None:
    found = product.derived_at_once(folders[Disorder.SKEW], tmp_path)["ledger"]
    truth = product.truth(folders[Disorder.NONE])["ledger"]
    for job, rows in truth.items():
        assert abs(sum(found[job].values()) - sum(rows.values())) <= 2 * LARGEST_SKEW_US


def test_lost_records_change_numbers(folders: dict[Disorder, Path], tmp_path: Path) -> None:
    found = product.derived_at_once(folders[Disorder.LOSS], tmp_path)
    assert product.differences(found, product.truth(folders[Disorder.LOSS])) != []
