"""Painted steps as arrays: their sums by hour, and how long a step of an attempt usually takes.

All lengths are integer microseconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.conventions import HOUR_US

Micros = npt.NDArray[np.int64]
BASELINE_STEPS = 101
"""The baseline is read from steps number 2 to 102 of an attempt."""
BASELINE_MIN_STEPS = 20


@dataclass(frozen=True)
class PaintedSteps:
    """Painted steps in order: arrays of one length, microseconds. `compute` is what is left."""

    begin_us: Micros
    end_us: Micros
    loader_us: Micros
    compute_us: Micros
    straggler_us: Micros
    checkpoint_us: Micros
    overhead_us: Micros


def hours(start_us: int, end_us: int) -> Iterator[tuple[int, int]]:
    """(hour_us, µs inside it) of every UTC hour that a span touches."""
    while start_us < end_us:
        hour = start_us - start_us % HOUR_US
        until = min(hour + HOUR_US, end_us)
        yield hour, until - start_us
        start_us = until


def slow_step_limit(compute_us: Micros, expected_step_us: int | None) -> int | None:
    """The baseline b of an attempt from the compute of its steps 2 to 102, or None: no limit."""
    ordered = np.sort(compute_us)
    n = len(ordered)
    if expected_step_us:
        baseline = expected_step_us
    elif n < BASELINE_MIN_STEPS:
        return None
    else:
        baseline = int(ordered[(n - 1) // 2])
    p90 = int(ordered[(9 * n + 9) // 10 - 1]) if n else 0
    return None if baseline == 0 or 2 * p90 > 3 * baseline else baseline


def sums_by_hour(
    begin_us: Micros, end_us: Micros, parts: tuple[Micros, ...]
) -> dict[int, list[int]]:
    """Sum parts that lie one after the other in each step by UTC hour: {hour_us: [µs by part]}.

    The steps are in order of time; those that cross an hour are cut one by one.
    """
    hour = begin_us // HOUR_US
    crossing = hour != (end_us - 1) // HOUR_US
    starts = np.flatnonzero(np.diff(hour, prepend=hour[0] - 1))
    whole = np.stack(parts)
    found: dict[int, list[int]] = {}
    if crossing.any():
        for i in np.flatnonzero(crossing).tolist():
            _cut_by_hour(int(begin_us[i]), [int(part[i]) for part in parts], found)
        whole[:, crossing] = 0
    sums = np.add.reduceat(whole, starts, axis=1)
    for column, start in enumerate(starts.tolist()):
        totals = found.setdefault(int(hour[start]) * HOUR_US, [0] * len(parts))
        for i, us in enumerate(sums[:, column].tolist()):
            totals[i] += us
    return found


def _cut_by_hour(begin_us: int, lengths: list[int], found: dict[int, list[int]]) -> None:
    moment = begin_us
    for i, length in enumerate(lengths):
        for hour, us in hours(moment, moment + length):
            found.setdefault(hour, [0] * len(lengths))[i] += us
        moment += length
