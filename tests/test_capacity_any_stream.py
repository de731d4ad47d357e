"""The capacity ledger over random node states and jobs: a partition, whatever comes in what order.

Compared with a plain reading (capacity_reference.py) that walks through time. HEADWAY_STREAMS sets
how many streams are compared: a sixteenth of it.
"""

import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import capacity_reference
import capacity_streams
import harness
import pytest
import streams
from hypothesis import given, settings
from hypothesis import strategies as st

STREAMS = int(os.environ.get("HEADWAY_STREAMS", "320")) // 16
BATCH = 4
slower = settings(streams.tried, max_examples=-(-streams.EXAMPLES // 3))


def derived(seed: int, as_of_us: int | None = None) -> list[tuple[Any, ...]]:
    """The capacity of a stream that is delivered at once."""
    return derived_from(*capacity_streams.random_stream(seed), as_of_us)


def derived_from(
    lifecycle: list[dict[str, Any]], steps: list[dict[str, Any]], as_of_us: int | None = None
) -> list[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        harness.deliver(con, Path(folder), lifecycle, steps)
        harness.rederive(con, as_of_us)
        return harness.capacity(con)


@pytest.mark.parametrize("first_seed", range(0, STREAMS, BATCH))
def test_random_node_states_give_what_the_plain_reading_gives(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + BATCH):
        lifecycle, steps = capacity_streams.random_stream(seed)
        as_of_us = streams.random_as_of(seed, lifecycle, steps) if seed % 3 == 2 else None
        expected = capacity_reference.Capacity(lifecycle, steps, as_of_us).rows
        found = {tuple(row[:5]): row[5] for row in derived(seed, as_of_us)}
        assert found == expected, f"seed {seed}, as of {as_of_us}"


def test_the_streams_that_are_compared_hold_all_that_goes_wrong_with_node_states() -> None:
    seen = {
        fault
        for seed in range(20)
        for fault in capacity_streams.faults(capacity_streams.random_stream(seed)[0])
    }
    assert seen == {
        *("a set of nodes", "an overlap", "a missing end", "a flap", "a long drain"),
        *("an unknown node", "a restart"),
    }


@streams.tried
@given(st.integers(0, 10**9), st.booleans())
def test_every_installed_gpu_microsecond_of_every_hour_is_in_one_row(
    seed: int, with_jobs: bool
) -> None:
    lifecycle, steps = capacity_streams.random_stream(seed)
    as_of_us = max(r["ts_us"] for r in lifecycle + steps)
    if with_jobs:
        # No node is unknown: what is installed does not depend on what jobs hold.
        lifecycle += capacity_streams.all_known(min(r["ts_us"] for r in lifecycle + steps) - 1)
    else:
        last = {"event": "change_ended", "ts_us": as_of_us, "id": "c", "change": "security"}
        lifecycle, steps = [e for e in lifecycle if e["event"] == "node_state"] + [last], []
    installed = installed_by_hour(lifecycle, as_of_us)
    found: dict[int, int] = defaultdict(int)
    for _, hour_us, *_, gpu_us in derived_from(lifecycle, steps):
        assert gpu_us > 0
        found[hour_us] += gpu_us
    assert found == {hour_us: gpu_us for hour_us, gpu_us in installed.items() if gpu_us}


def installed_by_hour(told: list[dict[str, Any]], as_of_us: int) -> dict[int, int]:
    """All that the nodes on record have from their first state on, in GPU-µs."""
    installed: dict[int, int] = defaultdict(int)
    for points in capacity_reference.node_states(told, as_of_us).values():
        ends = [t for t, _, _ in points[1:]] + [as_of_us]
        for (start_us, _, gpus), end_us in zip(points, ends, strict=True):
            for hour_us in range(start_us - start_us % streams.HOUR_US, end_us, streams.HOUR_US):
                inside = min(end_us, hour_us + streams.HOUR_US) - max(start_us, hour_us)
                installed[hour_us] += inside * gpus
    return installed


@slower
@given(st.integers(0, 10**9), st.randoms(use_true_random=False), st.integers(1, 5))
def test_late_shuffled_and_repeated_node_states_change_nothing(
    seed: int, random: Any, batches: int
) -> None:
    expected = derived(seed)
    lifecycle, steps = capacity_streams.random_stream(seed)
    random.shuffle(lifecycle)
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        for batch in range(batches):
            again = random.sample(lifecycle, min(3, len(lifecycle)))
            harness.deliver(
                con, Path(folder), lifecycle[batch::batches] + again, steps[batch::batches]
            )
            if random.random() < 0.8:
                harness.rederive(con, streams.random_as_of(seed + batch, lifecycle, steps))
        harness.rederive(con)
        assert harness.capacity(con) == expected
        harness.rederive(con, rebuild=True)
        assert harness.capacity(con) == expected
