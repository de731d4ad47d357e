"""What really happened, kept by the simulator from its own states.

A job's truth has three sources: boundaries (allocation, process, checkpoint, first step,
interruption) as they come; chunks of painted steps as arrays; and the steady time between steps.
Compute is kept by chunk until no later attempt can go back before it, so memory stays bounded.
All lengths are integer microseconds.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from metrics.conventions import HOUR_US
from pipelines.simulation.outcomes import RestartRow, WaitRow, WaitTurn
from pipelines.simulation.painting import (
    BASELINE_STEPS,
    PaintedSteps,
    hours,
    slow_step_limit,
    sums_by_hour,
)

Label = tuple[str, str, str]
"""(category, component, cause)"""

CATEGORY_OF_CAUSE = {
    "preemption": "preemption",
    "maintenance": "maintenance",
    "job_error": "job",
    "suspended": "job",
    "rollback": "job",
}
SLIVER_US = 1_000
SILENT_AFTER_US = 6 * HOUR_US

LOADER: Label = ("loader", "step", "")
USEFUL: Label = ("useful", "step", "")
SLOW: Label = ("unattributed", "slow_step", "")
STRAGGLER: Label = ("straggler", "step", "")
CHECKPOINT: Label = ("checkpoint", "step", "")
OVERHEAD: Label = ("job", "overhead", "")
PAUSE: Label = ("checkpoint", "pause", "")
PHASE: Label = ("job", "phase", "")
GAP: Label = ("unattributed", "gap", "")
TAIL: Label = ("unattributed", "tail", "")
WINDOW: Label = ("maintenance", "window", "")
RUN: Label = ("uninstrumented", "run", "")
STEP_LABELS = (LOADER, USEFUL, SLOW, STRAGGLER, CHECKPOINT, OVERHEAD)
"""What lies in a painted step, in the order in which it lies."""
COMPUTE_PARTS = (1, 2)
"""Which of these are compute: useful, and what is beyond the slow-step limit."""
RESTART_COMPONENTS = ("requeue", "launch", "load", "first_step")


def category(cause: str) -> str:
    """The category that a cause is counted under."""
    return CATEGORY_OF_CAUSE.get(cause, "restart")


@dataclass(frozen=True)
class Stretch:
    """Steady time between steps: what it is, or None where the job is suspended."""

    start_us: int
    end_us: int
    label: Label | None


@dataclass(frozen=True)
class Window:
    """A maintenance window; with neither jobs nor nodes it affects everything."""

    start_us: int
    end_us: int
    jobs: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    def affects(self, job: str, nodes: frozenset[str]) -> bool:
        """Whether it affects a job that holds these nodes."""
        if not self.jobs and not self.nodes:
            return True
        return job in self.jobs or bool(nodes & self.nodes)


class Place(IntEnum):
    """Boundaries of a job's wall-clock, in the order in which equal times are taken."""

    ALLOCATED = 1
    PROCESS = 2
    LOADED = 3
    FIRST_STEP = 4
    INTERRUPTION = 5


BASIS = {
    Place.FIRST_STEP: "first_step",
    Place.PROCESS: "process_started",
    Place.ALLOCATED: "resources_allocated",
}
COMPONENT_AFTER = {
    Place.ALLOCATED: "launch",
    Place.PROCESS: "load",
    Place.LOADED: "first_step",
    Place.INTERRUPTION: "requeue",
}


@dataclass(frozen=True)
class Boundary:
    """A boundary of a job's wall-clock."""

    at_us: int
    attempt: int
    place: Place
    cause: str = ""
    """Of an interruption; or why a job that was steady is allocated again without one."""
    detect_us: int = 0
    """Of an interruption: how long progress had ended, windows, pauses and phases apart."""


@dataclass
class _Chunk:
    """Consecutive steps of one attempt; `compute` is {hour_us: (useful, slow)} once classified."""

    last_step: int
    count: int
    compute: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _AttemptTruth:
    number: int
    resume: int
    deliberate: bool
    highest: int = 0
    chunks: list[_Chunk] = field(default_factory=list)
    early: list[tuple[_Chunk, PaintedSteps]] = field(default_factory=list)
    early_steps: int = 0
    settled: bool = False
    limit_us: int | None = None
    rework_cause: str | None = None
    lost_to_us: int | None = None
    """When the interruption was that its superseded steps are counted to."""
    lost_steps: int = 0
    rework_us: int = 0


class JobTruth:
    """The truth of one job."""

    def __init__(
        self,
        job: str,
        tier: str,
        submitted_us: int,
        expected_step_us: int | None,
        windows: list[Window],
    ) -> None:
        self.job = job
        self.tier = tier
        self.submitted_us = submitted_us
        self.nodes: frozenset[str] = frozenset()
        self.ledger: dict[tuple[int, Label], int] = defaultdict(int)
        self.storage_losses: list[tuple[int, int, int]] = []
        """(when it was going again, attempt, rework in µs) of each loss to a storage failure."""
        self._expected_step_us = expected_step_us
        self._windows = windows
        self._boundaries: list[Boundary] = []
        self._attempts: list[_AttemptTruth] = []
        self._trail: list[Stretch] = []
        """What followed the last step of an attempt that stopped without an interruption."""
        self.last_step_us: int | None = None
        self.turns = [(submitted_us, "pending", "")]
        """(when, part, reason) of each turn of the wait, up to the first step."""
        self.lost_us: dict[int, int] = {}
        """What each restart had done again, by when it was detected; known when it is finished."""

    # What the simulation tells.

    def turned(self, at_us: int, part: str, reason: str = "") -> None:
        """Another thing is what the job waits for; after its first step that is told no more."""
        if not self._attempts:
            self.turns.append((at_us, part, reason))

    def allocated(self, at_us: int, attempt: int, nodes: frozenset[str]) -> None:
        """The gang holds its nodes; where it was steady, nobody recorded what had stopped it."""
        cause = ""
        if self._is_steady() and self.last_step_us is not None:
            was_suspended = any(stretch.label is None for stretch in self._trail)
            cause = "suspended" if was_suspended else "unknown"
            detect = (category(cause), "detect", cause)
            self.steady(self.last_step_us, at_us, self._trail, detect)
            self._settle(self._attempts[-1])
        self.nodes, self._trail = nodes, []
        self.turned(at_us, COMPONENT_AFTER[Place.ALLOCATED])
        self._boundaries.append(Boundary(at_us, attempt, Place.ALLOCATED, cause))

    def reached(self, place: Place, at_us: int, attempt: int) -> None:
        """The process runs, or has loaded its checkpoint."""
        self.turned(at_us, COMPONENT_AFTER[place])
        self._boundaries.append(Boundary(at_us, attempt, place))

    def first_step(self, at_us: int, attempt: int, resume: int, deliberate: bool) -> None:
        """The first step of an attempt completed: it supersedes what lies after `resume`."""
        self._boundaries.append(Boundary(at_us, attempt, Place.FIRST_STEP))
        self.last_step_us = at_us
        new = _AttemptTruth(attempt, resume, deliberate, highest=resume + 1)
        for earlier in self._attempts:
            self._supersede(earlier, new)
        new.chunks.append(_Chunk(resume + 1, 1))
        self._attempts.append(new)

    def steps(self, last_step: int, painted: PaintedSteps) -> None:
        """Steps of the latest attempt completed, the last of them having this number."""
        attempt = self._attempts[-1]
        chunk = _Chunk(last_step, len(painted.end_us))
        attempt.highest = last_step
        attempt.chunks.append(chunk)
        self.last_step_us = int(painted.end_us[-1])
        if attempt.settled:
            self._classify(attempt, chunk, painted)
            return
        attempt.early.append((chunk, painted))
        attempt.early_steps += chunk.count
        if attempt.early_steps >= BASELINE_STEPS:
            self._settle(attempt)

    def interrupted(self, at_us: int, attempt: int, cause: str, trail: list[Stretch]) -> None:
        """The platform noticed that the attempt stopped; `trail` is what followed its last step."""
        detect_us = 0
        if self._is_steady() and self.last_step_us is not None:
            detect = (category(cause), "detect", cause)
            detect_us = self.steady(self.last_step_us, at_us, trail, detect)
        if self._attempts:
            self._settle(self._attempts[-1])
        self.turned(at_us, COMPONENT_AFTER[Place.INTERRUPTION])
        self._boundaries.append(Boundary(at_us, attempt, Place.INTERRUPTION, cause, detect_us))

    def stopped(self, trail: list[Stretch]) -> None:
        """The attempt stopped, and no interruption was recorded."""
        self._trail = trail

    def steady(self, start_us: int, end_us: int, trail: list[Stretch], rest: Label) -> int:
        """Label steady time between steps; returns how much of it was `rest`."""
        total, moment = 0, start_us
        for stretch in trail:
            total += self._overlaid(moment, stretch.start_us, rest)
            until = min(stretch.end_us, end_us)
            if stretch.label is not None:
                self._overlaid(stretch.start_us, until, stretch.label)
            moment = until
        return total + self._overlaid(moment, end_us, rest)

    def prune(self, oldest_checkpoint: int) -> None:
        """No attempt will resume before this step: what lies up to it is what it is."""
        for attempt in self._attempts:
            while attempt.settled and attempt.chunks:
                if attempt.chunks[0].last_step > oldest_checkpoint:
                    break
                self._bank(attempt.chunks.pop(0))

    def finish(self, end_us: int, ended: bool, trail: list[Stretch]) -> list[RestartRow]:
        """Close the wall-clock at its end; returns the restarts."""
        if not self._boundaries:
            return []
        if self._is_steady() and self.last_step_us is not None:
            self.steady(self.last_step_us, end_us, trail or self._trail, TAIL)
        for attempt in self._attempts:
            self._settle(attempt)
            for chunk in attempt.chunks:
                self._bank(chunk)
        return self._walk(end_us, ended)

    def wait(self, end_us: int) -> WaitRow:
        """The queue wait, censored at the end where no step completed."""
        started_us, basis = None, None
        for place in (Place.FIRST_STEP, Place.PROCESS, Place.ALLOCATED):
            found = [b.at_us for b in self._boundaries if b.place is place]
            if found:
                started_us, basis = found[0], BASIS[place]
                break
        wait_us = (end_us if started_us is None else started_us) - self.submitted_us
        return WaitRow(
            self.job,
            self.tier,
            self.submitted_us,
            started_us,
            wait_us,
            started_us is None,
            basis,
        )

    def last_step_of(self, attempt: int) -> int | None:
        """The last step that an attempt, the newest, completed; None before its first."""
        newest = self._attempts[-1] if self._attempts else None
        return newest.highest if newest is not None and newest.number == attempt else None

    def history(self, wait_us: int) -> Iterator[WaitTurn]:
        """The turns of a wait of this length, in order."""
        until_us = self.submitted_us + wait_us
        ends = [at_us for at_us, _, _ in self.turns[1:]] + [until_us]
        for (at_us, part, reason), end_us in zip(self.turns, ends, strict=True):
            if at_us < min(end_us, until_us):
                yield WaitTurn(self.job, at_us, min(end_us, until_us), part, reason)

    # How it follows.

    def is_silent(self, end_us: int, last_record_us: int, trail: list[Stretch]) -> bool:
        """Whether a job that has not ended would be presumed gone, with this after its last step.

        Its wall-clock then ends at its last record.
        """
        is_suspended = any(s.label is None and s.end_us > end_us for s in trail or self._trail)
        waited_us = end_us - last_record_us
        return self._is_steady() and not is_suspended and waited_us > SILENT_AFTER_US

    def _is_steady(self) -> bool:
        return bool(self._boundaries) and self._boundaries[-1].place is Place.FIRST_STEP

    def _add(self, start_us: int, end_us: int, label: Label) -> None:
        for hour, us in hours(start_us, end_us):
            self.ledger[hour, label] += us

    def _overlaid(self, start_us: int, end_us: int, label: Label) -> int:
        """Label a span, windows taking precedence; returns the µs that are not in a window."""
        kept, moment = 0, start_us
        while moment < end_us:
            inside, until = self._window_at(moment, end_us)
            self._add(moment, until, WINDOW if inside else label)
            kept += 0 if inside else until - moment
            moment = until
        return kept

    def _window_at(self, moment_us: int, end_us: int) -> tuple[bool, int]:
        """Whether a window affects the job now, and until when that answer holds."""
        inside, until = False, end_us
        for window in self._windows:
            if window.end_us <= moment_us or not window.affects(self.job, self.nodes):
                continue
            if window.start_us <= moment_us:
                inside = True
                until = min(until, window.end_us)
            else:
                until = min(until, window.start_us)
        return inside, until

    def _settle(self, attempt: _AttemptTruth) -> None:
        """Fix the slow-step limit of an attempt, and classify what waited for it."""
        if attempt.settled:
            return
        attempt.settled = True
        early = [painted.compute_us for _, painted in attempt.early]
        sample = np.concatenate(early)[:BASELINE_STEPS] if early else np.empty(0, np.int64)
        attempt.limit_us = slow_step_limit(sample, self._expected_step_us)
        for chunk, painted in attempt.early:
            self._classify(attempt, chunk, painted)
        attempt.early = []

    def _classify(self, attempt: _AttemptTruth, chunk: _Chunk, painted: PaintedSteps) -> None:
        useful, slow = painted.compute_us, np.zeros_like(painted.compute_us)
        if attempt.limit_us is not None:
            over = painted.compute_us > 2 * attempt.limit_us
            if over.any():
                useful = np.where(over, attempt.limit_us, painted.compute_us)
                slow = painted.compute_us - useful
        parts = (
            painted.loader_us,
            useful,
            slow,
            painted.straggler_us,
            painted.checkpoint_us,
            painted.overhead_us,
        )
        for hour, sums in sums_by_hour(painted.begin_us, painted.end_us, parts).items():
            for i, label in enumerate(STEP_LABELS):
                if sums[i] and i not in COMPUTE_PARTS:
                    self.ledger[hour, label] += sums[i]
            chunk.compute[hour] = (sums[1], sums[2])

    def _bank(self, chunk: _Chunk) -> None:
        for hour, (useful, slow) in chunk.compute.items():
            if useful:
                self.ledger[hour, USEFUL] += useful
            if slow:
                self.ledger[hour, SLOW] += slow

    def _supersede(self, earlier: _AttemptTruth, new: _AttemptTruth) -> None:
        """Book what the new attempt does again as rework of the earlier one."""
        if new.resume >= earlier.highest:
            return
        if earlier.rework_cause is None:
            self._find_cause(earlier, new)
        cause = earlier.rework_cause or "unknown"
        label = (category(cause), "rework", cause)
        kept = []
        rework_us = 0
        for chunk in earlier.chunks:
            if chunk.last_step <= new.resume:
                kept.append(chunk)
                continue
            earlier.lost_steps += chunk.count
            for hour, parts in chunk.compute.items():
                if sum(parts):
                    self.ledger[hour, label] += sum(parts)
                    rework_us += sum(parts)
        earlier.chunks = kept
        earlier.rework_us += rework_us
        if cause == "storage":
            self.storage_losses.append((self._boundaries[-1].at_us, earlier.number, rework_us))

    def _find_cause(self, earlier: _AttemptTruth, new: _AttemptTruth) -> None:
        between = [
            b
            for b in self._boundaries
            if b.place is Place.INTERRUPTION and earlier.number <= b.attempt < new.number
        ]
        if new.deliberate:
            earlier.rework_cause = "rollback"
        elif not between:
            earlier.rework_cause = "unknown"
        else:
            earlier.rework_cause = between[0].cause
            earlier.lost_to_us = between[0].at_us

    def _walk(self, end_us: int, ended: bool) -> list[RestartRow]:
        """Label all that is not steady, and collect the restarts."""
        instrumented = bool(self._attempts)
        labels = list(self._labels(instrumented))
        for i, label in enumerate(labels):
            if label is not None:
                self._add(self._boundaries[i].at_us, self._next_us(i, end_us), label)
        restarts = []
        i = 0
        while i < len(self._boundaries):
            if self._boundaries[i].place is Place.INTERRUPTION:
                recovery = self._recovery(i, instrumented)
                restarts.append(self._restart(i, recovery, labels, end_us, ended, instrumented))
                i = len(self._boundaries) if recovery is None else recovery
            i += 1
        return restarts

    def _next_us(self, i: int, end_us: int) -> int:
        return self._boundaries[i + 1].at_us if i + 1 < len(self._boundaries) else end_us

    def _labels(self, instrumented: bool) -> Iterator[Label | None]:
        """The label of the time after each boundary; None where the job is steady."""
        processes = {b.attempt for b in self._boundaries if b.place is Place.PROCESS}
        cause: str | None = None
        running = False
        for b in self._boundaries:
            if b.place is Place.INTERRUPTION:
                cause, running = b.cause, False
            elif instrumented:
                cause = b.cause or cause
                if b.place is Place.FIRST_STEP:
                    yield None
                    continue
            elif b.place is Place.PROCESS or b.attempt not in processes:
                running = True
            if running:
                yield RUN
            elif cause is None:
                yield ("startup", COMPONENT_AFTER[b.place], "")
            else:
                yield (category(cause), COMPONENT_AFTER[b.place], cause)

    def _recovery(self, i: int, instrumented: bool) -> int | None:
        places = (Place.FIRST_STEP,) if instrumented else (Place.PROCESS, Place.ALLOCATED)
        for place in places:
            for j in range(i + 1, len(self._boundaries)):
                if self._boundaries[j].place is place:
                    return j
        return None

    def _restart(
        self,
        i: int,
        recovery: int | None,
        labels: list[Label | None],
        end_us: int,
        ended: bool,
        instrumented: bool,
    ) -> RestartRow:
        last = len(self._boundaries) if recovery is None else recovery
        inside = self._boundaries[i : last + 1]
        spent = dict.fromkeys(RESTART_COMPONENTS, 0)
        for j in range(i, last):
            label = labels[j]
            if label is not None and label[1] in spent:
                spent[label[1]] += self._next_us(j, end_us) - self._boundaries[j].at_us
        first = inside[0]
        recovered = None if recovery is None else self._boundaries[recovery]
        interruptions = [b for b in inside if b.place is Place.INTERRUPTION]
        moments = {b.at_us for b in interruptions}
        losers = [a for a in self._attempts if a.lost_to_us in moments]
        self.lost_us[first.at_us] = sum(a.rework_us for a in losers)
        outcome = "recovered" if recovered else "abandoned" if ended else "open"
        return RestartRow(
            job=self.job,
            detected_us=first.at_us,
            recovered_us=recovered.at_us if recovered else None,
            cause=first.cause,
            outcome=outcome,
            basis=BASIS[recovered.place] if recovered else None,
            attempts_used=len({b.attempt for b in inside if b.place is not Place.INTERRUPTION}),
            interruptions=len(interruptions),
            lost_steps=sum(a.lost_steps for a in losers) if instrumented else None,
            time_to_restart_us=recovered.at_us - first.at_us if recovered else None,
            detect_us=first.detect_us if instrumented else None,
            requeue_us=spent["requeue"],
            launch_us=spent["launch"],
            load_us=spent["load"],
            first_step_us=spent["first_step"] if instrumented else None,
        )


class CapacityTruth:
    """GPU time of the cluster by hour and state of its nodes, in GPU-microseconds."""

    def __init__(self) -> None:
        self.gpu_us: dict[tuple[int, str], int] = defaultdict(int)

    def add(self, state: str, gpus: int, start_us: int, end_us: int) -> None:
        """GPUs were in a state for a while."""
        for hour, us in hours(start_us, end_us):
            self.gpu_us[hour, state] += us * gpus
