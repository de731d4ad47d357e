"""The steps of one attempt, laid out ahead in arrays and handed over as the time passes.

A segment is a run of back-to-back steps up to the next stop (a checkpoint, an evaluation, a
suspension, the user's error, the last step), and what follows it before the next segment. What was
laid out beyond a moment can be dropped and laid out anew: a straggler appeared, the attempt is to
checkpoint at once. All times are integer microseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.conventions import US_PER_MS, US_PER_S
from pipelines.simulation.painting import PaintedSteps
from pipelines.simulation.truth import GAP, PAUSE, PHASE, SLIVER_US, JobTruth, Stretch
from pipelines.simulation.workload import JobPlan

Micros = npt.NDArray[np.int64]
Event = tuple[int, dict[str, Any]]
"""(ts_us, fields) of a lifecycle record"""

LONGEST_SEGMENT = 1024
NEVER_ENDED_US = 2**62
JITTER = 0.02
SLOW_SHARE, STALL_SHARE, HICCUP_SHARE = 0.0015, 0.004, 0.00005
FAILED_CHECKPOINTS = 0.02
REPORT_EVERY_STEPS = 100
"""Each so many steps a job does some work of its own inside the step (a report, a sample)."""


@dataclass(frozen=True)
class StepArrays:
    """Consecutive steps as reported: arrays of one length, microseconds."""

    first_step: int
    ts_us: Micros
    duration_us: Micros
    loader_us: Micros
    straggler_us: Micros
    checkpoint_us: Micros
    overhead_us: Micros
    straggler_node: str | None = None

    def __len__(self) -> int:
        return len(self.ts_us)

    def cut(self, part: slice) -> "StepArrays":
        """Some of the steps, from a start that is given (0 where it is None)."""
        arrays = {name: getattr(self, name)[part] for name in STEP_ARRAYS}
        return replace(self, first_step=self.first_step + (part.start or 0), **arrays)


STEP_ARRAYS = (
    "ts_us",
    "duration_us",
    "loader_us",
    "straggler_us",
    "checkpoint_us",
    "overhead_us",
)


@dataclass
class _Segment:
    start_us: int
    """Where its first step really begins."""
    steps: StepArrays
    end_us: int
    """Where the next segment begins."""
    trail: list[Stretch] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    terminal: str | None = None

    @property
    def last_ts_us(self) -> int:
        return int(self.steps.ts_us[-1])


@dataclass(frozen=True)
class Sink:
    """Where steps and events of an attempt go."""

    truth: JobTruth
    record_steps: Callable[[int, StepArrays], None]
    record_event: Callable[[int, dict[str, Any]], None]
    checkpointed: Callable[[int], None]


class Stepper:
    """One attempt from the completion of its first step on."""

    def __init__(
        self,
        plan: JobPlan,
        attempt: int,
        first_step: int,
        first_ts_us: int,
        last_step: int,
        stops: dict[int, str],
        rng: np.random.Generator,
        sink: Sink,
    ) -> None:
        self.attempt = attempt
        self.step = first_step
        """The last step that is laid out."""
        self.progress_us = first_ts_us
        """When the last step that was handed over ended."""
        self.trail: list[Stretch] = []
        """What is known to follow that step."""
        self._plan = plan
        self._cursor_us = first_ts_us
        self._last_step = last_step
        self._stops = stops
        self._rng = rng
        self._sink = sink
        self._segments: list[_Segment] = []
        self._pending: list[Event] = []
        self._slow: tuple[str, float] | None = None
        self._snapshot_us = 0
        self._closing: tuple[int, str] | None = None
        """When and how the attempt ends whose last step was handed over."""

    # Laying out.

    def extend(self, until_us: int) -> tuple[int, str] | None:
        """Lay out up to a moment; returns (when, how) the attempt comes to its end by itself."""
        while self._terminal() is None and self._cursor_us <= until_us:
            self._segments.append(self._next_segment(until_us))
        return self._terminal()

    def straggle(self, moment_us: int, slow: tuple[str, float] | None) -> None:
        """From the next step on a node is slow by a factor, or no more."""
        self._drop_after(moment_us)
        self._slow = slow

    def stall(self, moment_us: int, length_us: int) -> None:
        """After the step at work nothing happens for a while."""
        self._drop_after(moment_us)
        if self._segments and self._segments[-1].terminal is None:
            self._segments[-1].end_us += length_us
            self._cursor_us = self._segments[-1].end_us

    def checkpoint_now(self, moment_us: int, save_us: int, deadline_us: int) -> int | None:
        """Save after the step at work and stop, if that is done by the deadline; returns when."""
        self._drop_after(moment_us)
        if not self._segments:
            return None
        segment = self._segments[-1]
        done_us = segment.last_ts_us + save_us
        if segment.last_ts_us <= moment_us or segment.trail or segment.terminal:
            return None
        if segment.events or done_us > deadline_us:
            return None
        self._pause(segment, save_us, failed=False)
        segment.terminal = "halted"
        return done_us

    def _terminal(self) -> tuple[int, str] | None:
        if self._segments and self._segments[-1].terminal is not None:
            return self._segments[-1].end_us, self._segments[-1].terminal
        return self._closing

    def _drop_after(self, moment_us: int) -> None:
        """Forget every step that has not begun, and what would follow the step at work."""
        while self._segments and self._segments[-1].start_us >= moment_us:
            dropped = self._segments.pop()
            self._cursor_us = dropped.start_us
            self.step = dropped.steps.first_step - 1
        if not self._segments:
            return
        segment = self._segments[-1]
        begun = 1 + int(np.searchsorted(segment.steps.ts_us[:-1], moment_us, "left"))
        if begun < len(segment.steps):
            segment.steps = segment.steps.cut(slice(0, begun))
            segment.trail, segment.events, segment.terminal = [], [], None
            segment.end_us = segment.last_ts_us
            self._cursor_us = segment.end_us
            self.step = segment.steps.first_step + begun - 1

    def _next_segment(self, until_us: int) -> _Segment:
        left = max(self._last_step - self.step, 1)
        ahead = (until_us - self._cursor_us) // self._plan.step_us + 16
        n = min(left, LONGEST_SEGMENT, ahead, self._steps_to_stop())
        steps, hiccup = self._lay_out(n)
        end_us = int(steps.ts_us[-1])
        segment = _Segment(self._cursor_us, steps, end_us)
        self.step += n
        self._after(segment)
        segment.end_us += hiccup
        self._cursor_us = segment.end_us
        return segment

    def _steps_to_stop(self) -> int:
        plan = self._plan
        nearest = LONGEST_SEGMENT
        for every in (plan.checkpoint_every_steps, plan.evaluate_every_steps):
            if every:
                nearest = min(nearest, every - self.step % every)
        for stop in self._stops:
            if stop > self.step:
                nearest = min(nearest, stop - self.step)
        return nearest

    def _lay_out(self, n: int) -> tuple[StepArrays, int]:
        """The next n steps, and how long nothing happens after them without a reason."""
        plan, rng = self._plan, self._rng
        chance = rng.random(n, dtype=np.float32)
        compute, loader = self._compute_and_loader(chance)
        straggler, checkpoint, overhead = (np.zeros(n, np.int64) for _ in range(3))
        node = None
        if self._slow is not None:
            node, factor = self._slow
            straggler = (compute * factor).astype(np.int64)
        checkpoint[0], self._snapshot_us = self._snapshot_us, 0
        first_report = -(self.step + 1) % REPORT_EVERY_STEPS
        overhead[first_report::REPORT_EVERY_STEPS] = plan.step_us // 5
        length = loader + compute + straggler + checkpoint + overhead
        ts = self._cursor_us + np.cumsum(length)
        if plan.stamps_in_ms:
            length -= length % US_PER_MS
        hiccup_us = 0
        if chance[-1] > 1 - n * HICCUP_SHARE:
            hiccup_us = int(rng.integers(2 * US_PER_MS, 90 * US_PER_S))
        steps = StepArrays(self.step + 1, ts, length, loader, straggler, checkpoint, overhead, node)
        return steps, hiccup_us

    def _compute_and_loader(self, chance: npt.NDArray[np.float32]) -> tuple[Micros, Micros]:
        """Compute of steps and their wait for the loader; `chance` singles out the odd ones."""
        step_us, rng = self._plan.step_us, self._rng
        scale = rng.standard_normal(len(chance), dtype=np.float32)
        scale *= JITTER
        scale += 1.0
        if self._plan.is_uneven:
            scale[chance > 0.7] *= 4.0
        loader = (chance * np.float32(0.02 * step_us)).astype(np.int64)
        odd = np.flatnonzero(chance < SLOW_SHARE + STALL_SHARE)
        if len(odd):
            is_slow = chance[odd] < SLOW_SHARE
            slow, stalled = odd[is_slow], odd[~is_slow]
            scale[slow] *= rng.uniform(2.2, 6.0, len(slow)).astype(np.float32)
            loader[stalled] += rng.integers(step_us // 2, 8 * step_us, len(stalled))
        compute = (scale * np.float64(step_us)).astype(np.int64)
        return np.maximum(compute, step_us // 4, out=compute), loader

    def _after(self, segment: _Segment) -> None:
        """What follows the last step of a segment."""
        plan = self._plan
        if self.step >= self._last_step:
            if plan.checkpoint_every_steps:
                self._pause(segment, plan.save_us, failed=False)
            segment.end_us += int(self._rng.integers(US_PER_S, 20 * US_PER_S))
            segment.terminal = "completed"
            return
        if plan.checkpoint_every_steps and self.step % plan.checkpoint_every_steps == 0:
            self._checkpoint(segment)
        if plan.evaluate_every_steps and self.step % plan.evaluate_every_steps == 0:
            self._evaluate(segment)
        stop = self._stops.get(self.step)
        if stop == "suspended":
            self._suspend(segment)
        elif stop is not None:
            if stop == "parked" and not segment.events:
                self._pause(segment, plan.save_us, failed=False)
            segment.end_us += int(self._rng.integers(1, plan.step_us))
            segment.terminal = stop

    def _checkpoint(self, segment: _Segment) -> None:
        plan = self._plan
        failed = bool(self._rng.random() < FAILED_CHECKPOINTS)
        if plan.saves_block:
            self._pause(segment, plan.save_us, failed)
            return
        at_us = segment.last_ts_us
        self._snapshot_us = plan.save_us // 20
        self._tell(segment, at_us, "checkpoint_started", step=self.step, blocking=False)
        self._saved(segment, at_us + plan.save_us, failed)

    def _pause(self, segment: _Segment, save_us: int, failed: bool) -> None:
        start_us = segment.end_us
        self._tell(segment, start_us, "checkpoint_started", step=self.step)
        segment.end_us += save_us
        segment.trail.append(Stretch(start_us, segment.end_us, PAUSE))
        self._saved(segment, segment.end_us, failed)

    def _saved(self, segment: _Segment, at_us: int, failed: bool) -> None:
        if failed:
            self._tell(
                segment, at_us, "checkpoint_failed", step=self.step, detail="write timed out"
            )
            return
        self._tell(
            segment,
            at_us,
            "checkpoint_completed",
            step=self.step,
            bytes=self._plan.checkpoint_bytes,
            location=f"store://checkpoints/{self._plan.name}/{self.step}",
        )

    def _evaluate(self, segment: _Segment) -> None:
        start_us = segment.end_us
        segment.end_us += int(self._plan.evaluation_us * self._rng.uniform(0.8, 1.3))
        segment.trail.append(Stretch(start_us, segment.end_us, PHASE))
        self._tell(segment, start_us, "phase_started", name="evaluation")
        self._tell(segment, segment.end_us, "phase_ended", name="evaluation")

    def _suspend(self, segment: _Segment) -> None:
        start_us = segment.end_us + int(self._rng.integers(US_PER_S, 5 * US_PER_S))
        end_us = start_us + self._plan.suspend_us
        segment.trail.append(Stretch(start_us, end_us, None))
        segment.end_us = end_us + US_PER_S
        segment.events.append((start_us, {"event": "job_suspended", "job": self._plan.name}))
        segment.events.append((end_us, {"event": "job_resumed", "job": self._plan.name}))

    def _tell(self, segment: _Segment, at_us: int, event: str, **fields: Any) -> None:
        head = {"event": event, "job": self._plan.name, "attempt": self.attempt}
        segment.events.append((at_us, head | fields))

    # Handing over.

    def commit(self, until_us: int) -> None:
        """Hand over every step and event up to a moment, that included."""
        while self._segments:
            segment = self._segments[0]
            done = int(np.searchsorted(segment.steps.ts_us, until_us, "right"))
            if done:
                self._hand_over(segment.steps.cut(slice(0, done)))
            if done < len(segment.steps):
                if done:
                    segment.start_us = self.progress_us
                    segment.steps = segment.steps.cut(slice(done, None))
                break
            self.trail = segment.trail
            self._pending += segment.events
            if segment.terminal is not None:
                self._closing = (segment.end_us, segment.terminal)
            self._segments.pop(0)
        self._tell_pending(until_us)

    def open_trail(self, until_us: int) -> list[Stretch]:
        """What has begun after the last step by a moment, if the attempt goes no further."""
        return [
            s if s.end_us <= until_us else replace(s, end_us=NEVER_ENDED_US)
            for s in self.trail
            if s.start_us <= until_us
        ]

    def suspended_at(self, moment_us: int) -> bool:
        """Whether the job is suspended at a moment."""
        return any(s.label is None and s.start_us <= moment_us < s.end_us for s in self.trail)

    def _hand_over(self, steps: StepArrays) -> None:
        painted = paint(steps, self.progress_us)
        truth = self._sink.truth
        first_us = int(painted.begin_us[0])
        if first_us > self.progress_us:
            truth.steady(self.progress_us, first_us, self.trail, GAP)
        self.trail = []
        last_step = steps.first_step + len(steps) - 1
        truth.steps(last_step, painted)
        self._sink.record_steps(self.attempt, steps)
        self.progress_us = int(steps.ts_us[-1])

    def _tell_pending(self, until_us: int) -> None:
        due = [event for event in self._pending if event[0] <= until_us]
        self._pending = [event for event in self._pending if event[0] > until_us]
        for at_us, fields in due:
            self._sink.record_event(at_us, fields)
            if fields["event"] == "checkpoint_completed":
                self._sink.checkpointed(fields["step"])


def paint(steps: StepArrays, end_before_us: int) -> PaintedSteps:
    """Steps as the accounting paints them, after a step that ended at `end_before_us`."""
    begin = steps.ts_us - steps.duration_us
    before = np.empty_like(begin)
    before[0] = end_before_us
    before[1:] = steps.ts_us[:-1]
    begin = np.where(begin < before + SLIVER_US, before, begin)
    others = steps.loader_us + steps.straggler_us + steps.checkpoint_us + steps.overhead_us
    return PaintedSteps(
        begin_us=begin,
        end_us=steps.ts_us,
        loader_us=steps.loader_us,
        compute_us=steps.ts_us - begin - others,
        straggler_us=steps.straggler_us,
        checkpoint_us=steps.checkpoint_us,
        overhead_us=steps.overhead_us,
    )
