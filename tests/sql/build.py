"""Small streams for the rule tests, and their answers: seconds after a whole hour in and out.

Records are dictionaries in µs, as `harness.deliver` takes them. Answers are seconds as µs / 10^6,
which is exact to the µs for every number here, so tests compare them with ==.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import harness

SECOND_US = 1_000_000
HOUR = 3_600
"""Seconds of an hour."""
DAY = 24 * HOUR
BASE_US = 1_772_409_600 * SECOND_US
"""2026-03-02T00:00:00Z, where second 0 of every stream lies."""

Record = dict[str, Any]


def us(seconds: float) -> int:
    """A length in seconds as whole µs."""
    return round(seconds * SECOND_US)


def at(seconds: float) -> int:
    """The moment so many seconds after the base."""
    return BASE_US + us(seconds)


def event(name: str, when: float, job: str | None = "j", /, **fields: Any) -> Record:
    """A lifecycle record of job j (None: of no job)."""
    return {"event": name, "ts_us": at(when), "job": job, **fields}


def submitted(when: float, **fields: Any) -> Record:
    """The job enters the queue, in the standard tier unless said otherwise."""
    return event("job_submitted", when, **({"tier": "standard"} | fields))


def allocated(when: float, attempt: int = 0, **fields: Any) -> Record:
    """The gang holds its GPUs."""
    return event("resources_allocated", when, attempt=attempt, **fields)


def started(when: float, attempt: int = 0) -> Record:
    """The training process runs."""
    return event("process_started", when, attempt=attempt)


def loaded(when: float, attempt: int = 0, after: int = 0, **fields: Any) -> Record:
    """State is restored; `after` is the last step that the checkpoint contains."""
    return event("checkpoint_loaded", when, attempt=attempt, step=after, **fields)


def interrupted(when: float, cause: str = "hardware", attempt: int = 0) -> Record:
    """The platform noticed that the attempt stopped."""
    return event("interruption", when, attempt=attempt, cause=cause)


def suspended(when: float) -> Record:
    """Paused on the owner's wish."""
    return event("job_suspended", when)


def resumed(when: float) -> Record:
    """No longer paused."""
    return event("job_resumed", when)


def ended(when: float, outcome: str = "completed") -> Record:
    """The job is over."""
    return event("job_ended", when, outcome=outcome)


def saving(when: float, step: int, attempt: int = 0, **fields: Any) -> Record:
    """A checkpoint begins."""
    return event("checkpoint_started", when, attempt=attempt, step=step, **fields)


def saved(when: float, step: int, attempt: int = 0) -> Record:
    """A checkpoint is complete."""
    return event("checkpoint_completed", when, attempt=attempt, step=step)


def tick(when: float) -> Record:
    """A record of no job: it moves as_of and nothing else."""
    return event("node_state", when, None, node="clock", gpus=1, state="idle")


def step(when: float, number: int, duration: float = 10, attempt: int = 0, **rest: Any) -> Record:
    """A step that ends then; `duration` and the components in seconds."""
    record = {"job": rest.pop("job", "j"), "attempt": attempt, "step": number, "ts_us": at(when)}
    record["duration_us"] = us(duration)
    return record | {f"{part}_us": us(seconds) for part, seconds in rest.items()}


def steps(
    begin: float, first: int, last: int, duration: float = 10, attempt: int = 0, **rest: Any
) -> list[Record]:
    """Steps first to last, back to back from `begin` on."""
    return [
        step(begin + (n - first + 1) * duration, n, duration, attempt, **rest)
        for n in range(first, last + 1)
    ]


def _label(category: str, component: str, cause: str) -> str:
    return " ".join(part for part in (category, component, cause) if part)


@dataclass(frozen=True)
class Answers:
    """What a refresh made of a stream."""

    con: duckdb.DuckDBPyConnection

    def ledger(self, job: str = "j") -> dict[str, float]:
        """Seconds by `category component cause`, over all hours."""
        sums = harness.totals(self.con, job)
        return {_label(*key): sum_us / SECOND_US for key, sum_us in sums.items()}

    def hours(self, job: str = "j") -> dict[int, dict[str, float]]:
        """The ledger hour by hour, hours counted from the base."""
        found: dict[int, dict[str, float]] = {}
        for (hour_us, *key), row_us in harness.ledger(self.con).get(job, {}).items():
            hour = (hour_us - BASE_US) // (HOUR * SECOND_US)
            found.setdefault(hour, {})[_label(*key)] = row_us / SECOND_US
        return found

    def total(self, job: str = "j") -> float:
        """The sum of the ledger's rows."""
        return sum(harness.totals(self.con, job).values()) / SECOND_US

    def wall(self, job: str = "j") -> tuple[float | None, float | None]:
        """Start and end of the wall."""
        _, start_us, end_us, _, _ = self._facts(job)
        return _seconds(start_us), _seconds(end_us)

    def silent(self, job: str = "j") -> bool:
        """Whether the job is presumed gone."""
        return bool(self._facts(job)[4])

    def instrumented(self, job: str = "j") -> bool:
        """Whether the job has a step record."""
        return bool(self._facts(job)[3])

    def restarts(self) -> list[dict[str, Any]]:
        """Restarts with moments and lengths in seconds."""
        return self._rows("select * exclude (job_id) from restarts order by job_id, detected_us")

    def waits(self) -> list[dict[str, Any]]:
        """Queue waits with moments and lengths in seconds."""
        return self._rows("select * exclude (job_id) from queue_waits order by job_id")

    def wait_parts(self) -> dict[str, float]:
        """The only job's queue wait by `part reason`, in seconds."""
        rows = self.con.execute("select part, reason, us from wait_parts").fetchall()
        return {_label(part, reason, ""): part_us / SECOND_US for part, reason, part_us in rows}

    def facts(self) -> dict[str, Any]:
        """The only job's facts."""
        (row,) = self._rows("select * from job_facts")
        return row

    def _facts(self, job: str) -> tuple[Any, ...]:
        (row,) = (row for row in harness.walls(self.con) if row[0] == job)
        return row

    def _rows(self, query: str) -> list[dict[str, Any]]:
        cursor = self.con.execute(query)
        names = [column[0] for column in cursor.description or ()]
        return [
            {name.removesuffix("_us"): _value(name, v) for name, v in zip(names, row, strict=True)}
            for row in cursor.fetchall()
        ]


_MOMENTS = (
    "detected_us",
    "recovered_us",
    "submitted_us",
    "started_us",
    "wall_start_us",
    "wall_end_us",
    "last_record_us",
    "last_step_us",
)


def _value(name: str, value: Any) -> Any:
    if value is None or not name.endswith("_us"):
        return value
    return _seconds(value) if name in _MOMENTS else value / SECOND_US


def _seconds(moment_us: int | None) -> float | None:
    return None if moment_us is None else (moment_us - BASE_US) / SECOND_US


Derive = Callable[..., Answers]
"""The fixture `derive`: (lifecycle, steps=(), as_of=None) to answers."""
