"""The run that Headway's mission begins with: three weeks, eleven restarts, four days lost.

Made by hand, in minutes, so that its figures can be checked on paper:

    wall       504 h = 30,240 min
    useful     2,448 steps of 10 min                      24,480 min = 408 h
    startup    launch 5, load 15, first step 10               30
    restarts   11 × (detect 20, launch 5, load 15, first step 10)  550
               requeue, REQUEUE_MIN                        2,145
               rework, LOST_STEPS × 10 min                 2,620
    pauses     81 blocking checkpoints of 5 min              405
    tail       between the last step and the end              10
    lost                                                   5,760 min = 96 h

Goodput is 408 / 504 = 80.952 %, and 90 % would have allowed a loss of 50.4 h: 45.6 h over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

JOB = "three-weeks"
START = datetime(2026, 10, 1, tzinfo=UTC)
LENGTH = timedelta(days=21)
STEP_MIN = 10
PAUSE_MIN = 5
STEPS_PER_CHECKPOINT = 30
CHECKPOINTS_PER_ATTEMPT = 7
LAST_ATTEMPT_STEPS = 138

CAUSES = (
    "hardware",
    "network",
    "hardware",
    "software",
    "preemption",
    "hardware",
    "storage",
    "hardware",
    "network",
    "hardware",
    "maintenance",
)
REQUEUE_MIN = (20, 45, 60, 90, 30, 600, 120, 45, 480, 250, 405)
LOST_STEPS = (24, 24, 18, 24, 24, 24, 24, 24, 28, 24, 24)

Record = dict[str, Any]


@dataclass
class _Run:
    """The run as it goes: minutes since START, the step it is at, and what was recorded."""

    minute: int = 0
    step: int = 0
    attempt: int = 0
    lifecycle: list[Record] = field(default_factory=list)
    steps: list[Record] = field(default_factory=list)

    def wait(self, minutes: int) -> None:
        self.minute += minutes

    def tell(self, event: str, **fields: Any) -> None:
        self.lifecycle.append({"event": event, "ts": self._stamp(), "job": JOB, **fields})

    def train(self, count: int) -> None:
        for done in range(1, count + 1):
            self._complete_step()
            if done % STEPS_PER_CHECKPOINT == 0 and done // STEPS_PER_CHECKPOINT <= (
                CHECKPOINTS_PER_ATTEMPT
            ):
                self._pause()

    def start_attempt(self) -> None:
        self.tell("resources_allocated", attempt=self.attempt, gpus=512)
        self.wait(5)
        self.tell("process_started", attempt=self.attempt)
        self.wait(15)
        self.tell("checkpoint_loaded", attempt=self.attempt, step=self.step)
        self._complete_step()

    def _complete_step(self) -> None:
        self.wait(STEP_MIN)
        self.step += 1
        self.steps.append(
            {
                "job": JOB,
                "attempt": self.attempt,
                "step": self.step,
                "ts": self._stamp(),
                "duration_s": STEP_MIN * 60,
            }
        )

    def _pause(self) -> None:
        self.tell("checkpoint_started", attempt=self.attempt, step=self.step)
        self.wait(PAUSE_MIN)
        self.tell("checkpoint_completed", attempt=self.attempt, step=self.step)

    def _stamp(self) -> str:
        return (START + timedelta(minutes=self.minute)).isoformat()


def records() -> tuple[list[Record], list[Record]]:
    """The run's canonical lifecycle and step records."""
    run = _Run()
    run.tell("job_submitted", tier="standard", tenant="foundation", name="mission-70b", gpus=512)
    run.start_attempt()
    for cause, requeue_min, lost in _interruptions():
        run.train(STEPS_PER_CHECKPOINT * CHECKPOINTS_PER_ATTEMPT + lost)
        run.wait(20)
        run.tell("interruption", attempt=run.attempt, cause=cause)
        run.wait(requeue_min)
        run.attempt += 1
        run.step -= lost
        run.start_attempt()
    run.train(LAST_ATTEMPT_STEPS)
    run.wait(10)
    run.tell("job_ended", outcome="completed")
    return run.lifecycle, run.steps


def _interruptions() -> Iterator[tuple[str, int, int]]:
    return zip(CAUSES, REQUEUE_MIN, LOST_STEPS, strict=True)
