"""A slow, obvious reading of the accounting rules, sections 1 to 6: the oracle for the SQL.

It is kept apart from the models on purpose and shares no code with them. For each job every
moment at which anything could change is collected; then each elementary interval between two such
moments is asked, rule by rule in the order of the text, what it is. All times and lengths are
integer microseconds.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

MILLISECOND_US = 1_000
HOUR_US = 3_600 * 1_000_000
DAY_US = 24 * HOUR_US
DEFAULT_CLUSTER = "default"

# Places in the table of boundaries.
START, ALLOCATED, PROCESS, LOADED, FIRST_STEP, INTERRUPTION = range(6)
PLACE_OF_EVENT = {
    "resources_allocated": ALLOCATED,
    "process_started": PROCESS,
    "checkpoint_loaded": LOADED,
    "interruption": INTERRUPTION,
}
COMPONENT_AFTER = {
    START: "launch",
    ALLOCATED: "launch",
    PROCESS: "load",
    LOADED: "first_step",
    INTERRUPTION: "requeue",
}
COMPONENT_FIELDS = ("data_wait_us", "straggler_us", "checkpoint_us", "overhead_us")
"""In the order in which they are taken off the length of a step."""
RESTART_COMPONENTS = ("detect", "requeue", "launch", "load", "first_step")
BASIS = {
    FIRST_STEP: "first_step",
    PROCESS: "process_started",
    ALLOCATED: "resources_allocated",
}
CATEGORY_OF_CAUSE = {
    "preemption": "preemption",
    "maintenance": "maintenance",
    "job_error": "job",
    "suspended": "job",
    "rollback": "job",
}


# --- what comes out ---


@dataclass(frozen=True)
class Restart:
    """One span from an interruption to the next completion of a first step."""

    detected_us: int
    recovered_us: int | None
    cause: str
    outcome: str
    """recovered, open or abandoned"""
    basis: str | None
    """What the recovery was read from; None when there was none."""
    attempts_used: int
    interruptions: int
    lost_steps: int | None
    components: dict[str, int | None]
    """Microseconds of detect, requeue, launch, load, first_step; None for what cannot be known."""


@dataclass(frozen=True)
class Wait:
    """Queue wait of one job; `started_us` is None when it has not got there (censored)."""

    submitted_us: int
    started_us: int | None
    wait_us: int
    censored: bool
    basis: str | None


@dataclass(frozen=True)
class JobResult:
    """Wall-clock, ledger and restarts of one job."""

    wall_start_us: int | None
    wall_end_us: int | None
    wall_us: int
    useful_us: int
    instrumented: bool
    silent: bool
    ledger: dict[tuple[int, str, str, str], int]
    """(hour_us, category, component, cause) to microseconds, non-zero entries only."""
    restarts: list[Restart]
    stragglers: dict[tuple[int, str], int]
    """(hour_us, node) to what its steps waited for the node, where they name one."""


@dataclass(frozen=True)
class Derived:
    """All numbers of a store at `as_of_us` (None for an empty store)."""

    as_of_us: int | None
    jobs: dict[str, JobResult]
    waits: dict[str, Wait]


# --- what is passed around inside ---


@dataclass(frozen=True)
class Span:
    """A half-open interval of time [start_us, end_us)."""

    start_us: int
    end_us: int

    def holds(self, moment_us: int) -> bool:
        """Whether the moment lies in it."""
        return self.start_us <= moment_us < self.end_us


@dataclass(frozen=True, order=True)
class Boundary:
    """A boundary; the order of the fields is the order in which boundaries are taken."""

    time_us: int
    attempt: int
    place: int
    ts_us: int
    cause: str = ""


@dataclass(frozen=True)
class State:
    """The state that holds from a boundary on."""

    kind: str
    """starting, down, steady or run"""
    component: str = ""
    cause: str = ""
    attempt: int | None = None
    """The attempt of a run of a job that is not instrumented."""


@dataclass(frozen=True)
class Piece:
    """A stretch of time with its label."""

    span: Span
    category: str
    component: str
    cause: str = ""
    ended_by: int | None = None
    """Of a detect piece: the index of the boundary that ended progress."""


@dataclass(frozen=True)
class Rollback:
    """What superseded the steps of one attempt."""

    superseded: frozenset[int]
    """Step numbers."""
    cause: str
    interruption: tuple[int, int, str] | None
    """(ts_us, attempt, cause) of the interruption that led to it, if it counts as its loss."""


@dataclass(frozen=True)
class Painted:
    """A step record with the interval to which it is painted, and what lies in it."""

    job: str
    attempt: int
    step: int
    ts_us: int
    begin_us: int
    end_us: int
    first: bool
    loader_us: int
    compute_us: int
    straggler_us: int
    straggler_node: str | None
    checkpoint_us: int
    overhead_us: int


@dataclass(frozen=True)
class Window:
    """A maintenance window."""

    span: Span
    cluster: str
    jobs: frozenset[str]
    nodes: frozenset[str]


# --- section 1: which records count ---


def derive(
    lifecycle: list[dict],
    steps: list[dict],
    as_of_us: int | None = None,
    silent_after_us: int = 6 * HOUR_US,
) -> Derived:
    """All numbers of sections 1 to 6; with `as_of_us` given nothing later than it is read."""
    events = distinct_events(e for e in lifecycle if as_of_us is None or e["ts_us"] <= as_of_us)
    steps = distinct_steps(s for s in steps if as_of_us is None or s["ts_us"] <= as_of_us)
    if as_of_us is None:
        as_of_us = max((r["ts_us"] for r in events + steps), default=None)
    if as_of_us is None:
        return Derived(None, {}, {})
    windows = maintenance_windows(events, as_of_us)
    events_of, steps_of = by_job(events), by_job(steps)
    jobs, waits = {}, {}
    for name in sorted(events_of.keys() | steps_of.keys()):
        job = Job(name, events_of[name], steps_of[name], windows, as_of_us, silent_after_us)
        jobs[name] = job.result()
        if job.of("job_submitted"):
            waits[name] = job.wait()
    return Derived(as_of_us, jobs, waits)


def distinct_events(events: Iterable[dict]) -> list[dict]:
    """Equal lifecycle records once; a field that is None is one that is absent."""
    kept: dict[str, dict] = {}
    for event in events:
        given = {k: v for k, v in event.items() if v is not None}
        kept.setdefault(json.dumps(given, sort_keys=True), event)
    return list(kept.values())


def distinct_steps(steps: Iterable[dict]) -> list[dict]:
    """One step record a key: the smallest."""
    kept: dict[tuple, dict] = {}
    for step in steps:
        key = (step["job"], step["attempt"], step["step"])
        if key not in kept or contents(step) < contents(kept[key]):
            kept[key] = step
    return list(kept.values())


def contents(step: dict) -> tuple:
    """What decides between step records of one key."""
    fields = ("ts_us", "duration_us", *COMPONENT_FIELDS)
    return (*(step.get(f) or 0 for f in fields), step.get("straggler_node") or "")


def by_job(records: Iterable[dict]) -> dict[str, list[dict]]:
    """Records by the job that they are of; those of no job are left out."""
    grouped = defaultdict(list)
    for record in records:
        if record.get("job") is not None:
            grouped[record["job"]].append(record)
    return grouped


# --- sections 2 to 6: one job ---


class Job:
    """One job's records, and the questions that the rules ask about them."""

    def __init__(
        self,
        name: str,
        events: list[dict],
        steps: list[dict],
        windows: list[Window],
        as_of_us: int,
        silent_after_us: int,
    ) -> None:
        self.name = name
        self.events = events
        self._of: dict[tuple[str, ...], list[dict]] = {}
        self.steps = sorted(steps, key=lambda s: (s["ts_us"], s["attempt"], s["step"]))
        self.as_of_us = as_of_us
        self.instrumented = bool(steps)
        self.first_step_ts = first_step_times(self.steps)
        self.rollbacks = rollbacks(
            self.steps, self.of("interruption"), self.of("checkpoint_loaded")
        )
        self.windows = windows
        self.start_us = self.wall_start()
        self.ended = self.has_end()
        self.silent = False
        if self.start_us is not None:
            self.settle(self.recorded_end())
            self.silent = self.is_silent(silent_after_us)
            if self.silent:
                self.settle(self.last_record_us())

    def of(self, *names: str) -> list[dict]:
        """The job's events of these names, by time."""
        if names not in self._of:
            named = [e for e in self.events if e["event"] in names]
            self._of[names] = sorted(named, key=lambda e: e["ts_us"])
        return self._of[names]

    def latest_given(self, field: str) -> object:
        """An attribute of the submission: the latest given."""
        given = [e for e in self.of("job_submitted") if e.get(field) is not None]
        return max(given, key=lambda e: (e["ts_us"], e[field]))[field] if given else None

    # Section 2.

    def wall_start(self) -> int | None:
        """The earlier of the first allocation and the first step's own beginning."""
        starts = [e["ts_us"] for e in self.of("resources_allocated")[:1]]
        starts += [s["ts_us"] - s["duration_us"] for s in self.steps[:1]]
        return min(starts, default=None)

    def has_end(self) -> bool:
        """Whether the job has ended: a job_ended, and no allocation later than the latest one."""
        ends = self.of("job_ended")
        return bool(ends) and all(
            e["ts_us"] <= ends[-1]["ts_us"] for e in self.of("resources_allocated")
        )

    def recorded_end(self) -> int:
        """The end before silence is considered."""
        return self.of("job_ended")[-1]["ts_us"] if self.ended else self.as_of_us

    def last_record_us(self) -> int:
        """When anything of the job was last recorded."""
        return max(r["ts_us"] for r in self.events + self.steps)

    def is_silent(self, silent_after_us: int) -> bool:
        """Whether the job is presumed gone."""
        return (
            self.instrumented
            and not self.ended
            and self.states[-1].kind == "steady"
            and not never_resumed(self.of("job_suspended", "job_resumed"))
            and self.as_of_us - self.last_record_us() > silent_after_us
        )

    def settle(self, end_us: int) -> None:
        """Work out all that depends on the end of the wall."""
        self.end_us = end_us
        self.suspensions = suspensions(self.of("job_suspended", "job_resumed"), end_us)
        self.painted = self.paint()
        self.boundaries = self.find_boundaries()
        self.states = self.run_states()

    # Section 3: steps.

    def paint(self) -> list[Painted]:
        """Every step record in order with its painted interval; first steps too, marked so."""
        painted, seen, end_before = [], set(), None
        for step in self.steps:
            begin, end = self.painted_interval(step, end_before)
            painted.append(fill(step, begin, end, first=step["attempt"] not in seen))
            seen.add(step["attempt"])
            end_before = step["ts_us"]
        return painted

    def painted_interval(self, step: dict, end_before: int | None) -> tuple[int, int]:
        """From where to where a step is painted; nothing is left when the second is not later."""
        ts = step["ts_us"]
        own = ts - step["duration_us"]
        if end_before is not None and end_before <= own < end_before + MILLISECOND_US:
            own = end_before
        resumed = [s.end_us for s in self.suspensions if s.end_us <= ts]
        before = [] if end_before is None else [end_before]
        begin = max([own, *before, *resumed, self.start_us])
        ends = [ts, self.end_us] + [s.start_us for s in self.suspensions if s.holds(ts)]
        return begin, min(ends)

    def slow_step_limit(self, attempt: int) -> int | None:
        """The baseline b of an attempt, or None where there is no limit."""
        such = self.compute_of_steps_2_to_102(attempt)
        expected = self.latest_given("expected_step_us")
        if expected:
            baseline = expected
        elif len(such) < 20:
            return None
        else:
            baseline = lower_median(such)
        uneven = bool(such) and 2 * nearest_rank_p90(such) > 3 * baseline
        return None if baseline == 0 or uneven else baseline

    def compute_of_steps_2_to_102(self, attempt: int) -> list[int]:
        """The compute of the attempt's steps number 2 to 102 in order."""
        return [p.compute_us for p in self.painted if p.attempt == attempt][1:102]

    def step_pieces(self) -> list[Piece]:
        """The painted steps, each cut into what lies in it, in the order in which it lies."""
        limits = {attempt: self.slow_step_limit(attempt) for attempt in self.first_step_ts}
        pieces = []
        for p in self.painted:
            if not p.first:
                pieces += lay_out(p, self.parts(p, limits[p.attempt]))
        return pieces

    def stragglers(self) -> dict[tuple[int, str], int]:
        """What painted steps waited for each node that they name, by hour."""
        found: dict[tuple[int, str], int] = defaultdict(int)
        for p in self.painted:
            if p.first or not p.straggler_node:
                continue
            waits = [
                piece for piece in lay_out(p, self.parts(p, None)) if piece.category == "straggler"
            ]
            for (hour_us, *_), us in sum_by_hour(waits).items():
                found[hour_us, p.straggler_node] += us
        return dict(found)

    def parts(self, p: Painted, limit: int | None) -> list[tuple[int, str, str, str]]:
        """(length, category, component, cause) of what lies in a painted step, in order."""
        return [
            (p.loader_us, "loader", "step", ""),
            *self.compute_parts(p, limit),
            (p.straggler_us, "straggler", "step", ""),
            (p.checkpoint_us, "checkpoint", "step", ""),
            (p.overhead_us, "job", "overhead", ""),
        ]

    def compute_parts(self, p: Painted, limit: int | None) -> list[tuple[int, str, str, str]]:
        """The compute of a step: rework, or useful up to the slow-step limit."""
        rollback = self.rollbacks.get(p.attempt)
        if rollback and p.step in rollback.superseded:
            return [(p.compute_us, category(rollback.cause), "rework", rollback.cause)]
        if limit is not None and p.compute_us > 2 * limit:
            return [
                (limit, "useful", "step", ""),
                (p.compute_us - limit, "unattributed", "slow_step", ""),
            ]
        return [(p.compute_us, "useful", "step", "")]

    # Section 3: boundaries and states.

    def find_boundaries(self) -> list[Boundary]:
        """The boundaries in the order in which they are taken, the start of the wall first."""
        others = self.boundaries_as_recorded()
        found = others + [self.interruption_taken(e, others) for e in self.of("interruption")]
        clamped = sorted(replace(b, time_us=max(b.time_us, self.start_us)) for b in found)
        start = Boundary(self.start_us, -1, START, self.start_us)
        return [start] + [b for b in clamped if b.time_us <= self.end_us]

    def boundaries_as_recorded(self) -> list[Boundary]:
        """The boundaries other than interruptions and the start of the wall, at their own ts."""
        first_steps = [Boundary(ts, a, FIRST_STEP, ts) for a, ts in self.first_step_ts.items()]
        return first_steps + [
            Boundary(e["ts_us"], e["attempt"], PLACE_OF_EVENT[e["event"]], e["ts_us"])
            for e in self.of("resources_allocated", "process_started", "checkpoint_loaded")
            if not self.first_step_completed_before(e)
        ]

    def interruption_taken(self, event: dict, others: list[Boundary]) -> Boundary:
        """An interruption, no later than the earliest other boundary of a later attempt."""
        later_attempts = [b.ts_us for b in others if b.attempt > event["attempt"]]
        taken = min([event["ts_us"], *later_attempts])
        return Boundary(taken, event["attempt"], INTERRUPTION, event["ts_us"], event["cause"])

    def first_step_completed_before(self, event: dict) -> bool:
        """Whether the first step of the event's attempt had already completed."""
        first = self.first_step_ts.get(event["attempt"])
        return first is not None and first < event["ts_us"]

    def run_states(self) -> list[State]:
        """The state from each boundary on."""
        states = [State("starting", COMPONENT_AFTER[START])]
        step_on = self.next_state if self.instrumented else self.next_state_uninstrumented
        for boundary in self.boundaries[1:]:
            states.append(step_on(states[-1], boundary))
        return states

    def next_state(self, state: State, boundary: Boundary) -> State:
        """The state of an instrumented job after a boundary."""
        if boundary.place == FIRST_STEP:
            return State("steady")
        component = COMPONENT_AFTER[boundary.place]
        if boundary.place == INTERRUPTION:
            return State("down", component, boundary.cause)
        if state.kind == "steady":
            return State("down", component, self.detected_cause(boundary))
        return State(state.kind, component, state.cause)

    def next_state_uninstrumented(self, state: State, boundary: Boundary) -> State:
        """The state of a job without any step record after a boundary."""
        if boundary.place == INTERRUPTION:
            return State("down", COMPONENT_AFTER[INTERRUPTION], boundary.cause)
        if boundary.place == PROCESS:
            return State("run", attempt=boundary.attempt)
        if boundary.place == ALLOCATED and not self.has_process_started(boundary.attempt):
            return State("run", attempt=boundary.attempt)
        if state.kind != "run":
            return State(state.kind, COMPONENT_AFTER[boundary.place], state.cause)
        if boundary.place == ALLOCATED and boundary.attempt != state.attempt:
            return State("down", COMPONENT_AFTER[ALLOCATED], "unknown")
        return state

    def has_process_started(self, attempt: int) -> bool:
        """Whether a process_started of the attempt was recorded at all."""
        return any(e["attempt"] == attempt for e in self.of("process_started"))

    def progress_end(self, boundary: Boundary) -> int:
        """Where progress ended for a boundary that comes in the steady state."""
        done = [
            p
            for p in self.painted
            if p.ts_us <= boundary.time_us and not (p.first and p.ts_us == boundary.time_us)
        ]
        return done[-1].end_us if done else boundary.time_us

    def detected_cause(self, boundary: Boundary) -> str:
        """The cause with which a boundary ends the steady state."""
        if boundary.place == INTERRUPTION:
            return boundary.cause
        from_us, to_us = self.progress_end(boundary), boundary.time_us
        if any(from_us <= e["ts_us"] <= to_us for e in self.of("job_suspended")):
            return "suspended"
        return "unknown"

    # Section 3: labels.

    def pauses(self) -> list[Span]:
        """Blocking checkpoints."""
        starts = [e for e in self.of("checkpoint_started") if e.get("blocking") is not False]
        ends = self.of("checkpoint_completed", "checkpoint_failed")
        return [self.own_work(e, ends, "step") for e in starts]

    def phases(self) -> list[Span]:
        """The job's own non-training work."""
        ends = self.of("phase_ended")
        return [self.own_work(e, ends, "name") for e in self.of("phase_started")]

    def own_work(self, start: dict, ends: list[dict], field: str) -> Span:
        """From the start to the first end that matches it, or to what stands in for one."""
        start_us = start["ts_us"]
        recorded = [
            e["ts_us"]
            for e in ends
            if e["attempt"] == start["attempt"]
            and e[field] == start[field]
            and e["ts_us"] >= start_us
        ]
        candidates = [b.time_us for b in self.boundaries if b.time_us > start_us]
        candidates.append(self.end_us)
        if recorded:
            candidates.append(min(recorded))
        else:
            candidates += [p.begin_us for p in self.painted if p.begin_us >= start_us]
        return Span(start_us, min(candidates))

    def in_maintenance(self, moment_us: int) -> bool:
        """Whether the moment lies in a maintenance window that affects the job."""
        return any(w.span.holds(moment_us) and self.affected(w, moment_us) for w in self.windows)

    def affected(self, window: Window, moment_us: int) -> bool:
        """Whether a window affects the job at a moment."""
        if self.name in window.jobs:
            return True
        cluster = self.latest_given("cluster") or DEFAULT_CLUSTER
        if cluster != window.cluster:
            return False
        if not window.jobs and not window.nodes:
            return True
        return bool(window.nodes & self.nodes_at(moment_us))

    def nodes_at(self, moment_us: int) -> frozenset[str]:
        """The nodes of the latest allocation at a moment."""
        so_far = [e for e in self.of("resources_allocated") if e["ts_us"] <= moment_us]
        if not so_far:
            return frozenset()
        latest = max((e["ts_us"], e["attempt"]) for e in so_far)
        held = [e.get("nodes") or () for e in so_far if (e["ts_us"], e["attempt"]) == latest]
        return frozenset(node for nodes in held for node in nodes)

    def pieces(self) -> list[Piece]:
        """The whole wall, labelled, as elementary intervals in order of time."""
        if self.start_us is None:
            return []
        painted = self.step_pieces()
        painted_starts = [p.span.start_us for p in painted]
        times = [b.time_us for b in self.boundaries]
        pauses, phases = self.pauses(), self.phases()
        pieces = []
        for moment, until in pairwise(self.cuts(painted, pauses, phases)):
            span = Span(moment, until)
            if any(s.holds(moment) for s in self.suspensions):
                continue
            i = bisect_right(painted_starts, moment) - 1
            if i >= 0 and painted[i].span.holds(moment):
                p = painted[i]
                pieces.append(Piece(span, p.category, p.component, p.cause))
            else:
                latest = bisect_right(times, moment) - 1
                pieces.append(self.non_step(span, latest, pauses, phases))
        return pieces

    def cuts(self, painted: list[Piece], pauses: list[Span], phases: list[Span]) -> list[int]:
        """Every moment of the wall at which anything could change, its two ends included."""
        spans = [p.span for p in painted] + pauses + phases + self.suspensions
        spans += [w.span for w in self.windows]
        moments = {moment for span in spans for moment in (span.start_us, span.end_us)}
        moments |= {b.time_us for b in self.boundaries}
        moments |= {self.progress_end(b) for b in self.boundaries}
        moments |= {e["ts_us"] for e in self.of("resources_allocated")}
        moments |= {s["ts_us"] for s in self.steps[-1:]}
        inside = {m for m in moments if self.start_us < m < self.end_us}
        if self.start_us >= self.end_us:
            return []
        return sorted(inside | {self.start_us, self.end_us})

    def non_step(self, span: Span, latest: int, pauses: list[Span], phases: list[Span]) -> Piece:
        """The label of non-step time after the boundary of index `latest`."""
        state, moment = self.states[latest], span.start_us
        if state.kind == "starting":
            return Piece(span, "startup", state.component)
        if state.kind == "down":
            return Piece(span, category(state.cause), state.component, state.cause)
        if state.kind == "run":
            return Piece(span, "uninstrumented", "run")
        if self.in_maintenance(moment):
            return Piece(span, "maintenance", "window")
        if any(p.holds(moment) for p in pauses):
            return Piece(span, "checkpoint", "pause")
        if any(p.holds(moment) for p in phases):
            return Piece(span, "job", "phase")
        if latest + 1 < len(self.boundaries):
            following = self.boundaries[latest + 1]
            if moment >= self.progress_end(following):
                cause = self.detected_cause(following)
                return Piece(span, category(cause), "detect", cause, ended_by=latest + 1)
        if moment >= self.steps[-1]["ts_us"]:
            return Piece(span, "unattributed", "tail")
        return Piece(span, "unattributed", "gap")

    # Sections 4 to 6.

    def result(self) -> JobResult:
        """The job's numbers."""
        pieces = self.pieces()
        ledger = sum_by_hour(pieces)
        wall_us = self.wall_us()
        assert sum(ledger.values()) == wall_us, (self.name, ledger, wall_us)
        return JobResult(
            wall_start_us=self.start_us,
            wall_end_us=None if self.start_us is None else self.end_us,
            wall_us=wall_us,
            useful_us=sum(us for (_, kind, _, _), us in ledger.items() if kind == "useful"),
            instrumented=self.instrumented,
            silent=self.silent,
            ledger=ledger,
            restarts=[] if self.start_us is None else self.restarts(pieces),
            stragglers={} if self.start_us is None else self.stragglers(),
        )

    def wall_us(self) -> int:
        """Length of the wall: [start, end] without the suspensions."""
        if self.start_us is None or self.end_us <= self.start_us:
            return 0
        suspended = sum(
            max(0, min(s.end_us, self.end_us) - max(s.start_us, self.start_us))
            for s in self.suspensions
        )
        return self.end_us - self.start_us - suspended

    def restarts(self, pieces: list[Piece]) -> list[Restart]:
        """The restarts, in order."""
        found, i = [], 0
        while i < len(self.boundaries):
            if self.boundaries[i].place == INTERRUPTION:
                recovery = self.recovery_index(i)
                found.append(self.restart(i, recovery, pieces))
                i = len(self.boundaries) if recovery is None else recovery
            i += 1
        return found

    def recovery_index(self, i: int) -> int | None:
        """The index of the boundary that ends the span which boundary `i` begins."""
        for place in (FIRST_STEP,) if self.instrumented else (PROCESS, ALLOCATED):
            for j in range(i + 1, len(self.boundaries)):
                if self.boundaries[j].place == place:
                    return j
        return None

    def restart(self, i: int, recovery: int | None, pieces: list[Piece]) -> Restart:
        """The record of the span from boundary `i` to boundary `recovery`."""
        inside = self.boundaries[i : None if recovery is None else recovery + 1]
        interruptions = [b for b in inside if b.place == INTERRUPTION]
        first = inside[0]
        recovered = None if recovery is None else inside[-1]
        outcome = "recovered" if recovered else "abandoned" if self.ended else "open"
        until_us = recovered.time_us if recovered else self.end_us
        return Restart(
            detected_us=first.time_us,
            recovered_us=recovered.time_us if recovered else None,
            cause=first.cause,
            outcome=outcome,
            basis=BASIS[recovered.place] if recovered else None,
            attempts_used=len({b.attempt for b in inside if b.place != INTERRUPTION}),
            interruptions=len(interruptions),
            lost_steps=self.lost_steps(interruptions),
            components=self.restart_components(i, Span(first.time_us, until_us), pieces),
        )

    def lost_steps(self, interruptions: list[Boundary]) -> int | None:
        """How many steps were superseded by these interruptions."""
        if not self.instrumented:
            return None
        keys = {(b.ts_us, b.attempt, b.cause) for b in interruptions}
        return sum(len(r.superseded) for r in self.rollbacks.values() if r.interruption in keys)

    def restart_components(self, i: int, span: Span, pieces: list[Piece]) -> dict[str, int | None]:
        """Microseconds of each component of a restart; detect lies before the span."""
        sums: dict[str, int | None] = dict.fromkeys(RESTART_COMPONENTS, 0)
        for piece in pieces:
            if piece.component == "detect":
                counts = piece.ended_by == i
            else:
                counts = piece.component in sums and span.holds(piece.span.start_us)
            if counts:
                sums[piece.component] += piece.span.end_us - piece.span.start_us
        if not self.instrumented:
            sums["detect"] = sums["first_step"] = None
        return sums

    def wait(self) -> Wait:
        """Queue wait."""
        submitted_us = self.of("job_submitted")[0]["ts_us"]
        started_us, basis = self.started()
        if started_us is not None:
            return Wait(submitted_us, started_us, started_us - submitted_us, False, basis)
        return Wait(submitted_us, None, self.recorded_end() - submitted_us, True, None)

    def started(self) -> tuple[int | None, str | None]:
        """When the queue wait was over, and what that was read from."""
        if self.steps:
            return self.steps[0]["ts_us"], "first_step"
        for event in ("process_started", "resources_allocated"):
            if self.of(event):
                return self.of(event)[0]["ts_us"], event
        return None, None


# --- small rules ---


def category(cause: str) -> str:
    """Category of a cause."""
    return CATEGORY_OF_CAUSE.get(cause, "restart")


def lower_median(values: list[int]) -> int:
    """The lower of the two middle values, where there are two."""
    return sorted(values)[(len(values) - 1) // 2]


def nearest_rank_p90(values: list[int]) -> int:
    """The smallest value with at least nine tenths of all values at or below it."""
    return next(v for v in sorted(values) if 10 * sum(w <= v for w in values) >= 9 * len(values))


def sum_by_hour(pieces: list[Piece]) -> dict[tuple[int, str, str, str], int]:
    """The ledger: the pieces cut at UTC hours and summed."""
    ledger: dict[tuple[int, str, str, str], int] = defaultdict(int)
    for p in pieces:
        moment = p.span.start_us
        while moment < p.span.end_us:
            hour = moment - moment % HOUR_US
            until = min(hour + HOUR_US, p.span.end_us)
            ledger[hour, p.category, p.component, p.cause] += until - moment
            moment = until
    return dict(ledger)


def first_step_times(ordered_steps: list[dict]) -> dict[int, int]:
    """When the first step in order of each attempt completed."""
    first: dict[int, int] = {}
    for step in ordered_steps:
        first.setdefault(step["attempt"], step["ts_us"])
    return first


def never_resumed(events: list[dict]) -> bool:
    """Whether a job with these job_suspended and job_resumed is suspended after the last."""
    return suspended_since(events)[1] is not None


def suspensions(events: list[dict], end_us: int) -> list[Span]:
    """The suspensions of a job; one that was never resumed lasts to the end of the wall."""
    spans, since = suspended_since(events)
    if since is not None and since <= end_us:
        spans.append(Span(since, end_us))
    return spans


def suspended_since(events: list[dict]) -> tuple[list[Span], int | None]:
    """The suspensions that were resumed, and when the one began that was not.

    At one ts a job_suspended is taken before a job_resumed.
    """
    spans, since = [], None
    for event in sorted(events, key=lambda e: (e["ts_us"], e["event"] == "job_resumed")):
        if event["event"] == "job_suspended":
            since = event["ts_us"] if since is None else since
        elif since is not None:
            spans.append(Span(since, event["ts_us"]))
            since = None
    return spans, since


def fill(step: dict, begin_us: int, end_us: int, first: bool) -> Painted:
    """A step painted from begin to end, with what lies in it; nothing where nothing is left."""
    left = max(0, end_us - begin_us)
    lengths = []
    for field in COMPONENT_FIELDS:
        lengths.append(min(step.get(field) or 0, left))
        left -= lengths[-1]
    loader, straggler, checkpoint, overhead = lengths
    return Painted(
        job=step["job"],
        attempt=step["attempt"],
        step=step["step"],
        ts_us=step["ts_us"],
        begin_us=begin_us,
        end_us=end_us,
        first=first,
        loader_us=loader,
        compute_us=left,
        straggler_us=straggler,
        straggler_node=step.get("straggler_node"),
        checkpoint_us=checkpoint,
        overhead_us=overhead,
    )


def lay_out(p: Painted, parts: list[tuple[int, str, str, str]]) -> list[Piece]:
    """The parts of a painted step one after the other, those of no length left out."""
    pieces, moment = [], p.begin_us
    for length, kind, component, cause in parts:
        if length:
            pieces.append(Piece(Span(moment, moment + length), kind, component, cause))
        moment += length
    return pieces


def rollbacks(
    steps: list[dict], interruptions: list[dict], loads: list[dict]
) -> dict[int, Rollback]:
    """For each attempt with superseded steps: which, and why."""
    numbers: dict[int, set[int]] = defaultdict(set)
    for step in steps:
        numbers[step["attempt"]].add(step["step"])
    resume = {attempt: min(of) - 1 for attempt, of in numbers.items()}
    found = {}
    for a, of_a in numbers.items():
        later = [b for b in sorted(numbers) if b > a]
        superseded = frozenset(s for s in of_a if any(resume[b] < s for b in later))
        if superseded:
            first_b = next(b for b in later if resume[b] < max(of_a))
            cause, interruption = why(a, first_b, interruptions, loads)
            found[a] = Rollback(superseded, cause, interruption)
    return found


def why(
    a: int, b: int, interruptions: list[dict], loads: list[dict]
) -> tuple[str, tuple[int, int, str] | None]:
    """The cause for which attempt b rolled attempt a back, and the interruption that led to it."""
    if any(e["attempt"] == b and e.get("deliberate") for e in loads):
        return "rollback", None
    between = [e for e in interruptions if a <= e["attempt"] < b]
    if not between:
        return "unknown", None
    first = min((e["ts_us"], e["attempt"], e["cause"]) for e in between)
    return first[2], first


def maintenance_windows(events: list[dict], as_of_us: int) -> list[Window]:
    """The windows of maintenance, of all clusters."""
    ends = [e for e in events if e["event"] == "maintenance_ended"]
    return [
        Window(
            span=Span(e["ts_us"], window_end(e, ends, as_of_us)),
            cluster=cluster(e),
            jobs=frozenset(e.get("jobs") or ()),
            nodes=frozenset(e.get("nodes") or ()),
        )
        for e in events
        if e["event"] == "maintenance_started"
    ]


def window_end(start: dict, ends: list[dict], as_of_us: int) -> int:
    """The first end of the window at or after its start, or what stands in for one."""
    recorded = [
        e["ts_us"]
        for e in ends
        if (cluster(e), e["id"]) == (cluster(start), start["id"]) and e["ts_us"] >= start["ts_us"]
    ]
    return min(recorded, default=min(as_of_us, start["ts_us"] + DAY_US))


def cluster(event: dict) -> str:
    """The cluster that an event is of."""
    return event.get("cluster") or DEFAULT_CLUSTER
