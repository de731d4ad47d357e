"""MLPerf result logs: `:::MLLOG {json}` lines among the ordinary output of a training run.

One file is one job of one attempt, named after the file. The log says when things happened and, at
some of those moments, how far training had got; nothing is recorded step by step. So the time
between two such stamps becomes one step record that stands for all the steps between them.
Everything here works on whole milliseconds, the log's own unit, and on positions in steps.

Submitters log the same keys with different meanings, so a position is read by what the whole log
shows of its units (`position_reader`), and only one beyond the last is believed: a stamp that
repeats an old position, as some `block_stop` do, tells the time but no progress.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from metrics.errors import UnreadableInput
from metrics.moments import EARLIEST_US, LATEST_US
from metrics.policy import Policy
from pipelines.sources import Record, Reject, Settings, text

MARK = ":::MLLOG"
LOG_LINE = re.compile(MARK + r'\s+\{\s*"')
SYSTEM_MARK = ":::SYSJSON"
TIME_LIMIT = ("slurmstepd: error:", "CANCELLED AT", "DUE TO TIME LIMIT")
"""What Slurm writes into the output of a job that it kills; the time in it is local."""
FILE_ENDINGS = (".gz", ".txt", ".log")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_NUMBER = 10**15
"""What is beyond any count of samples or milliseconds is damage."""

STARTS = frozenset({"block_start", "epoch_start"})
STOPS = frozenset({"block_stop", "epoch_stop"})
PROGRESS = frozenset({"train_loss", "reduced_train_loss", "train_step_time"})
"""Keys, alone or inside a `tracked_stats`, whose position is that of training. A `tracked_stats` of
validation counts something else under the same name `step`."""

TRAINED = "steps trained"
"""The key that every such line is known by here."""

STAMPS = STARTS | STOPS | {"eval_start", "eval_stop", "checkpoint", TRAINED}
ATTEMPT = 0
EVALUATION = "evaluation"
OUTCOME_OF_STATUS = {"success": "completed", "aborted": "failed"}

Ruler = Callable[["Event"], int | None]
"""Tells how many steps were done at an event; None where the event does not say."""


@dataclass(frozen=True)
class Event:
    """One log line; `key` is TRAINED for every kind of line about training steps."""

    line: int
    time_ms: int
    key: str
    value: Any
    metadata: dict[str, Any]


@dataclass
class Log:
    """What a file holds, in the order of its lines."""

    events: list[Event] = field(default_factory=list)
    gpus: int | None = None
    hit_time_limit: bool = False

    def take(self, line: int, content: str) -> Reject | None:
        """Note what a line says; the Reject where it should be a log line but is none."""
        found = event_or_reject(line, content)
        if isinstance(found, Event):
            self.events.append(found)
            return None
        if found is None and SYSTEM_MARK in content:
            self.gpus = self.gpus or gpus_of_system(content)
        elif found is None and all(words in content for words in TIME_LIMIT):
            self.hit_time_limit = True
        return found

    def first(self, key: str) -> Event | None:
        """The earliest event of this key."""
        return min((e for e in self.events if e.key == key), key=_time, default=None)

    def last(self, key: str) -> Event | None:
        """The latest event of this key."""
        return max((e for e in self.events if e.key == key), key=_time, default=None)

    def word(self, key: str) -> str | None:
        """The text that a key was given first; None where it is absent or was never filled in."""
        for event in self.events:
            if event.key == key and isinstance(event.value, str) and event.value.strip():
                return None if event.value.endswith("_PLACEHOLDER") else event.value.strip()
        return None

    def count(self, key: str) -> int | None:
        """The positive whole number that a key was given first."""
        for event in self.events:
            if event.key == key and (number := _number(event.value)) and number == int(number):
                return int(number)
        return None


class MLPerf:
    """Reads MLPerf result logs, whatever the rank prefix, line ends or other output between."""

    name = "mlperf"
    names_jobs_after_files = True

    def recognises(self, path: Path, head: str) -> bool:
        """Whether the text holds a log line; a page that only speaks of them does not."""
        return bool(LOG_LINE.search(head))

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        """Yield the records of the job that the log tells of, in the order of time.

        The log may come from many ranks whose clocks differ: events are taken in the order of their
        stamps, and a start, stop or position counts when the first rank reports it. `init_stop`
        alone counts when the last rank does, since training waits for the slowest.

        Raises UnreadableInput where no line is a log line.
        """
        log = Log()
        for item in text.lines(path):
            reject = item if isinstance(item, Reject) else log.take(*item)
            if reject is not None:
                yield reject
        if not log.events:
            raise UnreadableInput(
                f"{path}: no {MARK} line in it; give the result log of an MLPerf training run"
            )
        log.events.sort(key=_time)
        yield from job_records(job_name(path), log, settings.policy)


def job_name(path: Path) -> str:
    """The job's id: the file's name without its endings, wherever the file lies."""
    name = path.name
    for ending in FILE_ENDINGS:
        name = name.removesuffix(ending)
    return name or path.name


# --- lines ----------------------------------------------------------------------------------------


def event_or_reject(line: int, content: str) -> Event | Reject | None:
    """The event of a line, what is wrong with it, or None where it is ordinary output."""
    _, mark, body = content.partition(MARK)
    if not mark:
        return None
    fields = _json_object(body)
    if fields is None:
        return Reject(line, "not_json", content)
    time_ms = _number(fields.get("time_ms"))
    # A stamp of another age is no moment of the run, and must not become its beginning or end.
    if (
        time_ms is None
        or time_ms != int(time_ms)
        or not EARLIEST_US <= int(time_ms) * 1000 < LATEST_US
    ):
        return Reject(line, f"bad_time: time_ms is {fields.get('time_ms')!r:.80}", _kept(fields))
    key = fields.get("key")
    if not isinstance(key, str) or not key:
        return Reject(line, f"bad_key: key is {key!r:.80}", _kept(fields))
    metadata = fields.get("metadata")
    value = fields.get("value")
    return Event(
        line,
        int(time_ms),
        TRAINED if _is_progress(key, value) else key,
        value,
        metadata if isinstance(metadata, dict) else {},
    )


def _kept(fields: dict[str, Any]) -> str:
    """What quarantine may hold of a log line: `value` and `metadata` may hold anything."""
    kept = {name: fields[name] for name in ("time_ms", "event_type", "key") if name in fields}
    return json.dumps({n: v for n, v in kept.items() if isinstance(v, (str, int, float))})


def gpus_of_system(content: str) -> int | None:
    """GPUs by the description of the machines (`:::SYSJSON {json}`), which alone is certain.

    `submission_platform` is not: `2xNVIDIA GB200` is two nodes of four.
    """
    fields = _json_object(content.partition(SYSTEM_MARK)[2]) or {}
    counts = [str(fields.get(k, "")) for k in ("number_of_nodes", "accelerators_per_node")]
    if not all(re.fullmatch("[0-9]{1,6}", count) for count in counts):
        return None
    return int(counts[0]) * int(counts[1]) or None


def _is_progress(key: str, value: Any) -> bool:
    if key == "tracked_stats":
        return isinstance(value, dict) and not PROGRESS.isdisjoint(value)
    return key in PROGRESS


def _json_object(body: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _number(value: Any) -> int | float | None:
    """A number that can count or date something."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= MAX_NUMBER else None


def _time(event: Event) -> int:
    return event.time_ms


# --- positions ------------------------------------------------------------------------------------


def position_reader(log: Log) -> Ruler:
    """How this log tells positions, as a function from an event to steps done.

    In order of trust: `step_num`, which counts steps; `step`, where the log shows that it counts
    steps; `samples_count` or a `step` that counts samples; `epoch_num`. A sample count next to a
    `step` in steps is not looked at: some logs put the length of the block there.
    """
    stamps = [e for e in log.events if e.key in STAMPS]
    batch = log.count("global_batch_size")
    if _any_has(stamps, "step_num"):
        return lambda event: _whole(event.metadata.get("step_num"))
    if _step_counts_steps(stamps, batch):
        return lambda event: _whole(event.metadata.get("step"))
    if batch and (_any_has(stamps, "samples_count") or _any_has(stamps, "step")):
        return lambda event: _steps_of_samples(event, batch)
    samples = log.count("train_samples")
    if batch and samples:
        return _epoch_reader(stamps, math.ceil(samples / batch))
    return lambda event: None


def _any_has(events: Iterable[Event], name: str) -> bool:
    return any(_number(e.metadata.get(name)) is not None for e in events)


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else round(number)


def _step_counts_steps(stamps: list[Event], batch: int | None) -> bool:
    """Whether `step` is in steps: a line gives both counts, or it is no multiple of the batch."""
    steps = [(e, s) for e in stamps if (s := _number(e.metadata.get("step"))) is not None]
    return batch is not None and any(
        (s > 0 and s * batch == e.metadata.get("samples_count")) or s % batch for e, s in steps
    )


def _steps_of_samples(event: Event, batch: int) -> int | None:
    """Steps of a sample count; a dataset's last batch may be short, and is a step all the same."""
    samples = _number(event.metadata.get("samples_count", event.metadata.get("step")))
    return None if samples is None else math.ceil(samples / batch)


def _epoch_reader(stamps: list[Event], steps_per_epoch: int) -> Ruler:
    """Positions by epoch: a fraction of one has been done where it is a fraction.

    A whole number says which epoch begins, or at its stop which one is over, and logs number them
    from 0 or from 1: the first to begin is the origin.
    """
    begun = [
        n
        for e in stamps
        if e.key == "epoch_start" and (n := _number(e.metadata.get("epoch_num"))) is not None
    ]
    origin = begun[0] if begun else 0

    def position(event: Event) -> int | None:
        epochs = _number(event.metadata.get("epoch_num"))
        if epochs is None or epochs < origin:
            return None
        over = 1 if event.key == "epoch_stop" and epochs in begun else 0
        return round((epochs - origin + over) * steps_per_epoch)

    return position


# --- records --------------------------------------------------------------------------------------


def job_records(job: str, log: Log, policy: Policy) -> Iterator[Record]:
    """The records of a log whose events are in the order of time."""
    begin = log.events[0]
    yield from _beginning(job, log, begin, policy)
    yield from _startup(job, log, begin)
    yield from _progress(job, log)
    outcome = _outcome(log)
    if outcome:
        # The last stamp, not run_stop: a log may go on, as with a checkpoint of the final state.
        yield _lifecycle(job, log.events[-1], "job_ended", outcome=outcome)


def _beginning(job: str, log: Log, begin: Event, policy: Policy) -> Iterator[Record]:
    gpus = {"gpus": log.gpus} if log.gpus else {}
    batch = policy.tier("batch")
    words = {"tenant": log.word("submission_org"), "name": log.word("submission_benchmark")}
    yield _lifecycle(
        job,
        begin,
        "job_submitted",
        tier=(batch or policy.tiers[-1]).name,
        **{k: v for k, v in words.items() if v},
        **gpus,
    )
    yield _lifecycle(job, begin, "resources_allocated", attempt=ATTEMPT, **gpus)


def _startup(job: str, log: Log, begin: Event) -> Iterator[Record]:
    started = log.first("init_start") or begin
    yield _lifecycle(job, started, "process_started", attempt=ATTEMPT)
    ready = log.last("init_stop") or log.first("run_start")
    if ready:
        yield _lifecycle(job, ready, "checkpoint_loaded", attempt=ATTEMPT, step=0)


def _outcome(log: Log) -> str | None:
    """How the job ended; None where the log just breaks off, or does not say.

    Of a kill only the time limit is sure to end the job: one preempted or on a lost node may go on
    in another log. A run that had stopped by itself is not failed by being killed afterwards.
    """
    stop = log.last("run_stop")
    status = stop.metadata.get("status") if stop else None
    stated = OUTCOME_OF_STATUS.get(status) if isinstance(status, str) else None
    return stated or ("failed" if log.hit_time_limit else None)


def _progress(job: str, log: Log) -> Iterator[Record]:
    position = position_reader(log)
    training = Training(job)
    reported: set[tuple[str, int]] = set()
    for event in log.events:
        if event.key not in STAMPS:
            continue
        steps = position(event)
        if event.key != TRAINED and steps is not None:
            # Another rank's report of the same moment: nothing happens twice at one position.
            if (event.key, steps) in reported:
                continue
            reported.add((event.key, steps))
        yield from training.take(event, steps)


@dataclass
class Training:
    """How far training has got, and since when it has been running.

    A piece of training runs from `begin_ms`, None where nothing is being trained. It ends with the
    next stamp of a later position; or at `end_ms`, where it was stopped without saying how far it
    had got, and the position comes with a later stamp.
    """

    job: str
    position: int | None = None
    begin_ms: int | None = None
    end_ms: int | None = None
    in_block: bool = False
    evaluating: bool = False
    stamp_ms: int = 0
    """The latest stamp taken: what ends without a start of its own began there at the earliest."""

    def take(self, event: Event, steps: int | None) -> Iterator[Record]:
        """The records that an event of STAMPS leads to; `steps` is the position that it tells."""
        if event.key == "checkpoint":
            yield from self._checkpoint(event, steps)
        else:
            yield from self._advance(event, steps)
            if event.key in STARTS:
                self._run_from(event.time_ms)
                self.in_block = True
                self.evaluating = False
            elif event.key in STOPS:
                self._stop(event.time_ms)
                self.in_block = False
            elif event.key == "eval_start":
                yield from self._evaluate(event)
            elif event.key == "eval_stop":
                yield from self._evaluated(event, steps)
        self.stamp_ms = event.time_ms

    def _advance(self, event: Event, steps: int | None) -> Iterator[Record]:
        """The step record up to a later position; without one, nothing."""
        if steps is None or (self.position is not None and steps <= self.position):
            return
        if self.position is not None and self.begin_ms is not None:
            end_ms = event.time_ms if self.end_ms is None else self.end_ms
            yield self._steps(event, (self.position, steps), (self.begin_ms, end_ms))
        running = self.begin_ms is not None and self.end_ms is None
        # Progress shows training at work even in a log that opens no block.
        shown = event.key == TRAINED and not self.evaluating
        self.begin_ms = event.time_ms if running or shown else None
        self.end_ms = None
        self.position = steps

    def _steps(self, event: Event, positions: tuple[int, int], span_ms: tuple[int, int]) -> Record:
        fields = {
            "job": self.job,
            "attempt": ATTEMPT,
            "step": positions[1],
            "steps": positions[1] - positions[0],
            "ts": _rfc3339(span_ms[1]),
            "duration_s": (span_ms[1] - span_ms[0]) / 1000,
        }
        return Record("steps", fields, event.line)

    def _run_from(self, time_ms: int | None) -> None:
        self.begin_ms, self.end_ms = time_ms, None

    def _stop(self, time_ms: int) -> None:
        if self.begin_ms == time_ms:
            self.begin_ms = None
        elif self.end_ms is None:
            self.end_ms = time_ms

    def _evaluate(self, event: Event) -> Iterator[Record]:
        self._stop(event.time_ms)
        if not self.evaluating:
            self.evaluating = True
            yield self._phase(event, "phase_started", event.time_ms)

    def _evaluated(self, event: Event, steps: int | None) -> Iterator[Record]:
        """The end of an evaluation. Training goes on at once where a block is still open.

        An evaluation whose start was not logged began with the stamp before, if that told the same
        position: no step lies between them.
        """
        if not self.evaluating and steps is not None and steps == self.position:
            yield self._phase(event, "phase_started", self.stamp_ms)
            self.evaluating = True
        if self.evaluating:
            yield self._phase(event, "phase_ended", event.time_ms)
        self.evaluating = False
        self._run_from(event.time_ms if self.in_block else None)

    def _phase(self, event: Event, kind: str, time_ms: int) -> Record:
        return _at(self.job, event, time_ms, kind, attempt=ATTEMPT, name=EVALUATION)

    def _checkpoint(self, event: Event, steps: int | None) -> Iterator[Record]:
        """A checkpoint, which has one stamp: its end.

        Where it holds the last position told, no step is known to lie between the stamp before and
        its end, and that time is the checkpoint's. Where training has got further it was written
        beside training.
        """
        if steps is None:
            return
        if steps == self.position:
            yield self._checkpointed(event, "checkpoint_started", steps, self.stamp_ms)
            if self.begin_ms is not None and self.end_ms is None:
                self.begin_ms = event.time_ms
        yield self._checkpointed(event, "checkpoint_completed", steps, event.time_ms)

    def _checkpointed(self, event: Event, kind: str, steps: int, time_ms: int) -> Record:
        return _at(self.job, event, time_ms, kind, attempt=ATTEMPT, step=steps)


def _lifecycle(job: str, event: Event, kind: str, **fields: Any) -> Record:
    return _at(job, event, event.time_ms, kind, **fields)


def _at(job: str, event: Event, time_ms: int, kind: str, **fields: Any) -> Record:
    named = {"event": kind, "ts": _rfc3339(time_ms), "job": job, **fields}
    return Record("lifecycle", named, event.line)


def _rfc3339(time_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
