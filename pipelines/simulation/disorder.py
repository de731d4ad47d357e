"""What happens to records between their writer and the files that are delivered.

Deliveries are numbered by hour. Delivery disorder (late, twice, shuffled, a torn copy beside the
record) must change no number. A skewed clock and lost records do: they are levels of their own.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from metrics.conventions import US_PER_S
from pipelines.simulation.recording import Lifecycle, StepTable, joined, seconds, stamp
from pipelines.simulation.scenario import Disorder, Scenario

LATE_SHARE, TWICE_SHARE, TORN_SHARE = 0.03, 0.03, 0.01
LATE_STEPS, TWICE_STEPS = 0.002, 0.003
LOST_SHARE, LOST_STEPS = 0.01, 0.001
LATEST_HOURS = 12
SKEWED_JOBS, LARGEST_SKEW_US = 0.25, 90 * US_PER_S

PROCESS_EVENTS = frozenset(
    (
        "process_started",
        "checkpoint_loaded",
        "checkpoint_started",
        "checkpoint_completed",
        "checkpoint_failed",
        "phase_started",
        "phase_ended",
    )
)
"""Events that the job's own processes write, with the clock of their node."""


@dataclass(frozen=True)
class Delivery:
    """What one hour delivers."""

    lines: list[str]
    """Lifecycle lines, some of them perhaps torn."""
    steps: StepTable | None
    late_lines: list[str]
    """Lines of step records that missed their hour."""


def skew_us(scenario: Scenario, job: str) -> int:
    """By how much the clock of a job's processes is off."""
    if scenario.disorder is not Disorder.SKEW:
        return 0
    own = np.random.default_rng([scenario.seed, 6, *job.encode()])
    if own.random() >= SKEWED_JOBS:
        return 0
    return int(own.integers(-LARGEST_SKEW_US, LARGEST_SKEW_US))


def event_line(at_us: int, fields: dict[str, Any]) -> str:
    """A lifecycle record as a line of JSON."""
    return json.dumps({"event": fields["event"], "ts": stamp(at_us)} | fields)


@dataclass
class Orderly:
    """Every record once, in order, in the hour in which it was made."""

    job_names: list[str]
    node_names: list[str]

    def deliver(self, events: Lifecycle, steps: StepTable | None, is_last: bool) -> Delivery:
        """What is delivered of an hour's records."""
        return Delivery([event_line(*event) for event in events], steps, [])


@dataclass
class Disorderly(Orderly):
    """Records that come late, twice, torn, skewed or not at all, as the scenario says."""

    scenario: Scenario
    _hour: int = 0
    _lines: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    _late: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.scenario.seed, 5])

    def deliver(self, events: Lifecycle, steps: StepTable | None, is_last: bool) -> Delivery:
        """What is delivered of an hour, and of earlier ones; the last leaves nothing."""
        for at_us, fields in events:
            self._send(at_us, fields)
        kept = self._send_steps(steps) if steps is not None else None
        due = sorted(self._lines.keys() | self._late.keys()) if is_last else [self._hour]
        lines = [line for hour in due for line in self._lines.pop(hour, [])]
        late_lines = [line for hour in due for line in self._late.pop(hour, [])]
        self._hour += 1
        return Delivery(self._shuffled(lines), kept, self._shuffled(late_lines))

    def _send(self, at_us: int, fields: dict[str, Any]) -> None:
        rng = self._rng
        if self.scenario.disorder is Disorder.LOSS and rng.random() < LOST_SHARE:
            return
        if fields["event"] in PROCESS_EVENTS:
            at_us += skew_us(self.scenario, fields["job"])
        line = event_line(at_us, fields)
        self._lines[self._due(LATE_SHARE)].append(line)
        if rng.random() < TWICE_SHARE:
            self._lines[self._due(0.5)].append(line)
        if rng.random() < TORN_SHARE:
            self._lines[self._due(0.5)].append(self._torn(line))

    def _send_steps(self, steps: StepTable) -> StepTable:
        rng = self._rng
        if self.scenario.disorder is Disorder.SKEW:
            skews = np.array([skew_us(self.scenario, name) for name in self.job_names], np.int64)
            steps = replace(steps, ts_us=steps.ts_us + skews[steps.job])
        if self.scenario.disorder is Disorder.LOSS:
            steps = steps.take(rng.random(len(steps)) >= LOST_STEPS)
        chance = rng.random(len(steps))
        is_late = chance < LATE_STEPS
        for i in np.flatnonzero(is_late).tolist():
            line = self._step_line(steps, i)
            self._late[self._due(1.0)].append(line)
            if rng.random() < TORN_SHARE:
                self._late[self._due(1.0)].append(self._torn(line))
        twice = steps.take(chance > 1 - TWICE_STEPS)
        in_time = joined([steps.take(~is_late), twice])
        return in_time.take(rng.permutation(len(in_time)))

    def _due(self, late_share: float) -> int:
        """The hour in which a record is delivered."""
        if self._rng.random() >= late_share:
            return self._hour
        return self._hour + int(self._rng.integers(1, LATEST_HOURS + 1))

    def _torn(self, line: str) -> str:
        return line[: int(self._rng.integers(1, len(line) - 1))]

    def _shuffled(self, lines: list[str]) -> list[str]:
        return [lines[i] for i in self._rng.permutation(len(lines)).tolist()]

    def _step_line(self, steps: StepTable, i: int) -> str:
        node = int(steps.straggler_node[i])
        straggles = bool(steps.straggler_us[i])
        fields = {
            "job": self.job_names[int(steps.job[i])],
            "attempt": int(steps.attempt[i]),
            "step": int(steps.step[i]),
            "ts": stamp(int(steps.ts_us[i])),
            "duration_s": seconds(int(steps.duration_us[i])),
            "data_wait_s": seconds(int(steps.data_wait_us[i])),
            "straggler_s": seconds(int(steps.straggler_us[i])),
            "checkpoint_s": seconds(int(steps.checkpoint_us[i])),
            "overhead_s": seconds(int(steps.overhead_us[i])),
        }
        if node >= 0 and straggles:
            fields["straggler_node"] = self.node_names[node]
        return json.dumps(fields)


def delivery_of(scenario: Scenario, job_names: list[str], node_names: list[str]) -> Orderly:
    """How the records of a scenario are delivered."""
    if scenario.disorder is Disorder.NONE:
        return Orderly(job_names, node_names)
    return Disorderly(job_names, node_names, scenario)
