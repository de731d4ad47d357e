"""Random event streams in which everything that the accounting rules mention goes wrong.

`random_stream(seed)` is plain and fast, for bulk runs; `streams()` is the hypothesis strategy
around it. Both yield (lifecycle, steps) as `reference.derive` takes them: dicts with integer
microseconds, in no order, with duplicates. Ties at one microsecond are common on purpose. Left
out, because the rules do not say which counts: two submissions of a job at one ts with different
attributes, and two allocations of one attempt at one ts with different nodes.
"""

import os
from dataclasses import dataclass, field
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

MICROSECOND_US = 1
MILLISECOND_US = 1_000
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
BASE_US = 1_790_812_800 * SECOND_US
"""2026-10-01T00:00:00Z"""

CAUSES = (
    "hardware",
    "network",
    "storage",
    "software",
    "preemption",
    "maintenance",
    "job_error",
    "unknown",
)
REASONS = (
    "quota",
    "gang_size",
    "topology",
    "power",
    "priority",
    "dependency",
    "user_hold",
    "other",
)
NODES = ("n1", "n2", "n3", "n4")
CLUSTERS = (None, None, None, "east", "west")
PHASES = ("evaluation", "sampling")

Stream = tuple[list[dict], list[dict]]

EXAMPLES = int(os.environ.get("HEADWAY_EXAMPLES", "12"))
"""How many streams each property of the product is tried with; `make fuzz` tries many more."""

tried = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
"""For properties of which each example is a warehouse or several, and takes seconds."""


@dataclass(frozen=True)
class Knobs:
    """Chances (0 to 1) of what may go wrong, and sizes."""

    missing: float = 0.15
    """of a boundary not being recorded"""
    skew: float = 0.15
    """of a lifecycle event being recorded at another time than it happened"""
    interlude: float = 0.12
    """of a pause, a phase or a suspension between two steps"""
    gap: float = 0.12
    """of a gap or an overlap between two steps"""
    copy: float = 0.1
    """of a record being delivered again, or of a step record with other contents"""
    rollback: float = 0.6
    """of an attempt resuming before the end of the one before it"""
    long_attempt: float = 0.12
    """of an attempt having enough steps for a baseline"""
    maintenance: float = 0.5
    """of a stream having maintenance windows"""
    max_attempts: int = 4


def random_stream(seed: int, knobs: Knobs = Knobs(), jobs: int | None = None) -> Stream:
    """A stream of 1 to 3 jobs (or as many as told) from a seed; the same seed gives the same."""
    rng = Random(seed)
    lifecycle: list[dict] = []
    steps: list[dict] = []
    for number in range(jobs or rng.choice((1, 1, 1, 2, 2, 3))):
        writer = JobWriter(rng, knobs, f"job-{number}")
        writer.write()
        lifecycle += writer.lifecycle
        steps += writer.steps
    lifecycle += other_events(rng, knobs, lifecycle, steps)
    lifecycle += [dict(e) for e in lifecycle if rng.random() < knobs.copy]
    steps += [copied(rng, s) for s in steps if rng.random() < knobs.copy / 2]
    rng.shuffle(lifecycle)
    rng.shuffle(steps)
    return lifecycle, steps


def random_as_of(seed: int, lifecycle: list[dict], steps: list[dict]) -> int | None:
    """A moment to ask at: none, that of a record, one beside it, or one long after all."""
    rng = Random(seed)
    times = sorted(r["ts_us"] for r in lifecycle + steps)
    if not times or rng.random() < 0.4:
        return None
    if rng.random() < 0.3:
        return times[-1] + rng.choice((1, SECOND_US, 5 * HOUR_US, 30 * HOUR_US))
    return rng.choice(times) + rng.choice((-1, 0, 0, 1))


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Random streams; what is drawn is a seed and the knobs, so that failures get simpler."""
    chance = st.sampled_from((0.0, 0.1, 0.3))
    knobs = Knobs(
        missing=draw(chance),
        skew=draw(chance),
        interlude=draw(chance),
        gap=draw(chance),
        copy=draw(chance),
        rollback=draw(st.sampled_from((0.0, 0.6, 1.0))),
        long_attempt=draw(chance),
        maintenance=draw(st.sampled_from((0.0, 1.0))),
        max_attempts=draw(st.integers(1, 5)),
    )
    return random_stream(draw(st.integers(0, 2**32 - 1)), knobs, draw(st.integers(1, 3)))


# --- one job ---


@dataclass
class JobWriter:
    """Writes the records of one job, walking along the time `now_us`."""

    rng: Random
    knobs: Knobs
    job: str
    lifecycle: list[dict] = field(default_factory=list)
    steps: list[dict] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Choose what kind of job it is."""
        rng = self.rng
        self.unit_us = rng.choice((MICROSECOND_US, MILLISECOND_US, SECOND_US, SECOND_US))
        self.fine = rng.random() < 0.3
        """Whether stamps are off by less than a millisecond."""
        self.now_us = self.begin_us = BASE_US + self.begin_after_base_us()
        self.instrumented = rng.random() < 0.85
        self.with_lifecycle = rng.random() < 0.93
        self.length = rng.choice((1, 2, 5, 10, 10, 60))
        """Of a usual step, in units."""
        self.slow = rng.random() < 0.5
        self.by_nature_uneven = rng.random() < 0.15
        self.highest = 0

    def begin_after_base_us(self) -> int:
        """Somewhere in the first hour, often shortly before the hour is over; or much earlier."""
        before_the_hour = self.rng.choice((0, 1, 3, 20, 100)) * self.unit_us
        somewhere = self.rng.randrange(3600) * SECOND_US
        offset = self.rng.choice((HOUR_US - before_the_hour, somewhere))
        return offset - self.rng.choice((0, 0, 0, 0, 7, 13)) * HOUR_US

    def chance(self, probability: float) -> bool:
        """True with the probability."""
        return self.rng.random() < probability

    def units(self, most: int) -> int:
        """A random length of 0 to `most` units, in microseconds."""
        return self.rng.randint(0, most) * self.unit_us

    def add(self, event: str, at_us: int | None = None, **fields: object) -> None:
        """A lifecycle record, now and then with another clock."""
        if self.with_lifecycle:
            at_us = self.now_us if at_us is None else at_us
            if self.chance(self.knobs.skew):
                at_us += self.rng.choice((-1, 1)) * self.units(self.rng.choice((1, 3, 30)))
            given = {k: v for k, v in fields.items() if v is not None}
            self.lifecycle.append({"event": event, "ts_us": at_us, "job": self.job, **given})

    def add_boundary(self, event: str, **fields: object) -> None:
        """A lifecycle record that may be missing."""
        if not self.chance(self.knobs.missing):
            self.add(event, **fields)

    def write(self) -> None:
        """The whole job."""
        self.submit()
        attempt = self.rng.choice((0, 0, 0, 0, 1))
        for _ in range(self.rng.randint(1, self.knobs.max_attempts)):
            self.write_attempt(attempt)
            attempt += self.rng.choice((1, 1, 1, 1, 1, 2))
        self.end(attempt)
        if not self.lifecycle and not self.steps:
            self.add_step(attempt, 1, self.unit_us)

    def submit(self) -> None:
        """The submission, now and then a second one, and why it waits."""
        if self.chance(0.85):
            for _ in range(self.rng.choice((1, 1, 1, 2))):
                self.submit_once()
                self.now_us += self.unit_us
        if self.chance(0.3):
            self.add("job_pending", reason=self.rng.choice(REASONS))
            self.now_us += self.units(20)

    def submit_once(self) -> None:
        """One submission; several of one job never share a ts."""
        taken = {e["ts_us"] for e in self.lifecycle}
        usual_us = self.length * self.unit_us
        before = len(self.lifecycle)
        self.add(
            "job_submitted",
            tier=self.rng.choice(("interactive", "standard", "batch")),
            cluster=self.rng.choice(CLUSTERS),
            gpus=self.rng.choice((None, 1, 8, 64)),
            expected_step_us=self.rng.choice((None,) * 6 + (0, usual_us, usual_us, usual_us // 2)),
            checkpoint_interval_us=self.rng.choice((None, 600 * SECOND_US)),
        )
        for event in self.lifecycle[before:]:
            while event["ts_us"] in taken:
                event["ts_us"] -= 1

    # Attempts.

    def write_attempt(self, attempt: int) -> None:
        """Launch, steps and the interruption of one attempt."""
        self.suspend_perhaps(0.05)
        resume = self.resume_step()
        self.launch(attempt, resume)
        if self.instrumented:
            for number in range(resume + 1, resume + 1 + self.step_count()):
                self.write_step(attempt, number)
                self.highest = max(self.highest, number)
        self.now_us += self.units(20)
        self.suspend_perhaps(0.05)
        if self.chance(0.75):
            self.interrupt(attempt)
        self.now_us += self.time_until_next_attempt()

    def resume_step(self) -> int:
        """After which step the attempt goes on."""
        if self.highest == 0 or not self.chance(self.knobs.rollback):
            return self.highest + self.rng.choice((0, 0, 0, 1))
        return max(0, self.highest - self.rng.randint(0, 8))

    def launch(self, attempt: int, resume: int) -> None:
        """Allocation, process, checkpoint; each may be missing, doubled or early."""
        self.allocate(attempt)
        self.now_us += self.units(15)
        self.add_boundary("process_started", at_us=self.perhaps_early(), attempt=attempt)
        if self.chance(0.3):
            self.add("data_staged", attempt=attempt)
        self.now_us += self.units(15)
        deliberate = self.rng.choice((None, None, None, False, True))
        self.add_boundary(
            "checkpoint_loaded",
            at_us=self.perhaps_early(),
            attempt=attempt,
            step=resume,
            deliberate=deliberate,
        )
        if self.chance(0.05):
            self.add("process_started", at_us=self.now_us + self.units(60), attempt=attempt)

    def perhaps_early(self) -> int:
        """Now, or before the job began."""
        return self.begin_us - self.units(10) if self.chance(0.05) else self.now_us

    def allocate(self, attempt: int) -> None:
        """The allocation; nodes only once for one attempt and ts."""
        nodes = self.rng.choice((None, None, self.some_nodes()))
        self.add_boundary("resources_allocated", attempt=attempt, nodes=nodes, gpus=8)
        if self.chance(0.05):
            later_us = 1 + self.units(40)
            moved = self.some_nodes()
            self.add("resources_allocated", self.now_us + later_us, attempt=attempt, nodes=moved)
        self.keep_allocations_apart()

    def keep_allocations_apart(self) -> None:
        """No two allocations of one attempt at one ts."""
        taken: set[tuple[int, int]] = set()
        for event in self.lifecycle:
            if event["event"] == "resources_allocated":
                while (event["ts_us"], event["attempt"]) in taken:
                    event["ts_us"] += 1
                taken.add((event["ts_us"], event["attempt"]))

    def some_nodes(self) -> list[str]:
        """One or two nodes."""
        return sorted(self.rng.sample(NODES, self.rng.randint(1, 2)))

    def step_count(self) -> int:
        """How many steps an attempt completes."""
        if self.chance(self.knobs.long_attempt):
            return self.rng.choice((20, 21, 22, 25, 30, 40, 104, 108))
        return self.rng.choice((0, 1, 2, 4, 6, 9, 12, 16))

    def interrupt(self, attempt: int) -> None:
        """An interruption, perhaps noticed late, perhaps more than one."""
        for _ in range(self.rng.choice((1, 1, 1, 1, 2))):
            at_us = self.now_us
            if self.chance(2 * self.knobs.skew):
                at_us += self.units(200)
            node = self.rng.choice((None, *NODES))
            cause = self.rng.choice(CAUSES)
            self.add("interruption", at_us, attempt=attempt, cause=cause, node=node)

    def time_until_next_attempt(self) -> int:
        """The queue; now and then hours, or negative so that attempts interleave."""
        if self.chance(0.1):
            return -self.units(60)
        if self.chance(0.06):
            return self.rng.randint(1, 9) * HOUR_US
        return self.units(self.rng.choice((0, 10, 100)))

    # Steps.

    def write_step(self, attempt: int, number: int) -> None:
        """What comes before a step, and the step."""
        if self.chance(self.knobs.interlude):
            self.interlude(attempt, number)
        own_gap_us, extra_us = self.gap_and_overlap()
        length_us = self.step_length()
        self.now_us += own_gap_us + length_us
        self.add_step(attempt, number, length_us + extra_us)

    def gap_and_overlap(self) -> tuple[int, int]:
        """(time before the step, length by which it reaches into the time before)."""
        jitter = self.rng.randint(0, 1_100) if self.fine else 0
        if not self.chance(self.knobs.gap):
            return jitter, 0
        kinds = (
            (self.units(3), 0),
            (self.units(30), 0),
            (0, self.units(10)),
            (self.units(20), self.units(30)),
            (self.rng.choice((999, 1_000, 1_001)), 0),
            (self.rng.choice((0, 0, 0, 1, 2, 8, 27)) * HOUR_US, 0),
        )
        return self.rng.choice(kinds)

    def step_length(self) -> int:
        """The length of a step."""
        if self.by_nature_uneven:
            return self.units(8 * self.length)
        if self.chance(0.04):
            return 0
        if self.slow and self.chance(0.08):
            return self.length * self.unit_us * self.rng.choice((2, 3, 5)) + self.rng.choice((0, 1))
        if self.chance(0.1):
            return max(0, self.length * self.unit_us + self.rng.choice((-1, 1)) * self.units(1))
        return self.length * self.unit_us

    def add_step(self, attempt: int, number: int, duration_us: int) -> None:
        """A step record that ends now."""
        step = {
            "job": self.job,
            "attempt": attempt,
            "step": number,
            "ts_us": self.now_us,
            "duration_us": duration_us,
            "straggler_node": self.rng.choice((None, None, *NODES)),
        }
        for part in ("data_wait_us", "straggler_us", "checkpoint_us", "overhead_us"):
            step[part] = self.part_length(duration_us)
        self.steps.append(step)

    def part_length(self, duration_us: int) -> int:
        """A component; now and then longer than the step."""
        if self.chance(0.85):
            return 0
        longest = 2 * duration_us if self.chance(0.1) else duration_us // 3
        return self.rng.randint(0, longest)

    # Between steps.

    def interlude(self, attempt: int, number: int) -> None:
        """A pause, a phase or a suspension."""
        kind = self.rng.choice((self.pause, self.phase, self.suspend))
        kind(attempt, number)

    def pause(self, attempt: int, number: int) -> None:
        """A checkpoint, blocking or not, that ends or does not."""
        blocking = self.rng.choice((None, None, True, False))
        fields = {"attempt": attempt, "step": number - 1}
        self.add("checkpoint_started", blocking=blocking, **fields)
        if not self.chance(0.2):
            self.now_us += self.units(10)
        end = self.rng.choice(("completed", "completed", "failed", None))
        if end is not None:
            at_us = self.now_us + (self.units(40) if self.chance(0.2) else 0)
            self.add(f"checkpoint_{end}", at_us, **fields)

    def phase(self, attempt: int, number: int) -> None:
        """The job's own work, that ends or does not."""
        fields = {"attempt": attempt, "name": self.rng.choice(PHASES)}
        self.add("phase_started", **fields)
        if not self.chance(0.2):
            self.now_us += self.units(15)
        if self.chance(0.7):
            at_us = self.now_us + (self.units(40) if self.chance(0.2) else 0)
            self.add("phase_ended", at_us, **fields)

    def suspend_perhaps(self, probability: float) -> None:
        """A suspension with the probability."""
        if self.chance(probability):
            self.suspend(0, 0)

    def suspend(self, attempt: int, number: int) -> None:
        """A suspension: nested, unresumed, a resumption alone, or in the midst of steps."""
        at_us = self.now_us
        length_us = self.units(self.rng.choice((0, 5, 5, 5, 50, 50)))
        if self.chance(0.9):
            self.add("job_suspended", at_us)
        if self.chance(0.2):
            self.add("job_suspended", at_us + length_us // 2)
        if self.chance(0.85):
            self.add("job_resumed", at_us + length_us)
        if self.chance(0.1):
            self.add("job_resumed", at_us + length_us + self.units(3))
        if self.chance(0.6):
            self.now_us += length_us

    # The end.

    def end(self, attempt: int) -> None:
        """An end now, too early, twice or never; a record long after; another allocation."""
        self.now_us += self.units(10)
        if self.chance(0.6):
            early_us = self.units(100) if self.chance(0.25) else 0
            outcome = self.rng.choice(("completed", "failed", "cancelled"))
            self.add("job_ended", self.now_us - early_us, outcome=outcome)
            if self.chance(0.1):
                self.add("job_ended", self.now_us + self.units(5), outcome="failed")
        if self.chance(0.12):
            self.now_us += self.units(20)
            self.add_boundary("resources_allocated", attempt=attempt)
            self.keep_allocations_apart()


# --- events of no job, and copies ---


def other_events(rng: Random, knobs: Knobs, lifecycle: list[dict], steps: list[dict]) -> list[dict]:
    """Maintenance windows within the stream, and a record that makes as_of later."""
    times = sorted(r["ts_us"] for r in lifecycle + steps)
    events = []
    if rng.random() < knobs.maintenance:
        for _ in range(rng.randint(1, 3)):
            events += maintenance(rng, times)
    if rng.random() < 0.2:
        hours = rng.choice((0, 5, 6, 6, 7, 30))
        later_us = hours * HOUR_US + rng.choice((0, 1, SECOND_US))
        idle = {"event": "node_state", "node": "n9", "gpus": 8, "state": "idle"}
        events.append({**idle, "ts_us": times[-1] + later_us})
    return events


def maintenance(rng: Random, times: list[int]) -> list[dict]:
    """One window: for jobs, for nodes, for both or for all; with and without an end."""
    at = rng.randrange(len(times))
    start_us = times[at] + rng.choice((0, 0, -1, 1, -SECOND_US))
    window = {"id": rng.choice(("m1", "m2")), "cluster": rng.choice(CLUSTERS)}
    scope = {
        "jobs": rng.choice((None, None, [], ["job-0"], ["job-1", "job-7"])),
        "nodes": rng.choice((None, None, ["n1"], ["n2", "n3"])),
    }
    window, scope = without_nones(window), without_nones(scope)
    events = [{"event": "maintenance_started", "ts_us": start_us, **window, **scope}]
    if rng.random() < 0.6:
        end_us = rng.choice(times[at:]) + rng.choice((0, 0, 1, HOUR_US))
        events.append({"event": "maintenance_ended", "ts_us": max(start_us, end_us), **window})
    return events


def without_nones(fields: dict) -> dict:
    """Only the fields that are given."""
    return {k: v for k, v in fields.items() if v is not None}


def copied(rng: Random, step: dict) -> dict:
    """The step record again, or one of the same key with other contents."""
    changes = (
        {},
        {},
        {"ts_us": step["ts_us"] + rng.choice((-1_000, -1, 1, SECOND_US))},
        {"duration_us": step["duration_us"] + rng.choice((1, SECOND_US))},
        {"data_wait_us": step["data_wait_us"] + 1},
        {"straggler_node": rng.choice((None, *NODES))},
    )
    return {**step, **rng.choice(changes)}
