"""Breaches of the checkpoint promise: the simulator's truth against what the product finds."""

import json
from pathlib import Path

import duckdb
import product
import pytest
from harness import POLICY
from scenarios import made, small

from answers.facts import Facts
from answers.home import Home
from answers.mart import open_mart
from metrics.adjustments import Adjustments
from pipelines.publish import publish

Losses = dict[str, list[int]]


def found_by_product(con: duckdb.DuckDBPyConnection, folder: Path) -> tuple[Losses, set[str]]:
    """What interruptions by storage cost where that broke the promise, and the large jobs."""
    home = Home.open(folder / "home")
    publish(con, home, POLICY, as_of_given=False)
    losses: Losses = {}
    with open_mart(home) as mart:
        facts = Facts(mart, POLICY, Adjustments((), ()))
        for failure in facts.storage_failures:
            if failure.kind == "interruption" and (breach := failure.breach):
                losses.setdefault(breach.job, []).append(breach.lost_us)
        large = {job for job, row in facts.jobs.items() if row["large_us"] is not None}
    return {job: sorted(lost) for job, lost in losses.items()}, large


def going_back_once(folder: Path) -> set[str]:
    """Jobs of which no attempt began before the one ahead of it did.

    Where one does, the work of two attempts is lost at once, or that of one attempt twice: the
    truth then tells each loss apart, the accounting rules give an attempt's work one cause.
    """
    begun: dict[str, dict[int, int]] = {}
    for path in product.event_files(folder):
        if path.name.endswith(".lifecycle.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                event = json.loads(line)
                if event["event"] == "checkpoint_loaded":
                    begun.setdefault(event["job"], {})[event["attempt"]] = event["step"]
    ordered = {job: [steps[a] for a in sorted(steps)] for job, steps in begun.items()}
    return {job for job, steps in ordered.items() if steps == sorted(steps)}


@pytest.mark.parametrize("seed", [1])
def test_the_product_finds_the_breaches_of_the_truth(seed: int, tmp_path: Path) -> None:
    folder = made(small(seed, days=4, jobs=24, step_s=900, bad_week=1), tmp_path / "made")
    with product.delivered_at_once(folder, tmp_path) as con:
        found, large = found_by_product(con, tmp_path)
    truth: Losses = {}
    for row in product.truth_rows(folder, "breaches"):
        if row["kind"] == "durability" and row["job"] in large:
            truth.setdefault(row["job"], []).append(row["given_us"])
    plain = going_back_once(folder)
    assert len(truth.keys() & plain) >= 5
    for job in (truth.keys() | found.keys()) & plain:
        assert found.get(job) == sorted(truth.get(job, [])), job
    # Of the others the verdict is the same: broken or not.
    assert found.keys() == truth.keys()
