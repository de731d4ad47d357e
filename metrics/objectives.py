"""What each objective counts, and when: from dated facts of jobs to entries of a budget.

ACCOUNTING section 9: what was recovered or started in time counts when it was; what was not, at
the moment that it crossed its limit. What is still below its limit is not counted yet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metrics.budget import Entry
from metrics.conventions import HOUR_US


@dataclass(frozen=True)
class Restart:
    """A restart of a large job, in µs; `recovered_us` is None while it has not recovered."""

    job: str
    detected_us: int
    recovered_us: int | None
    age_us: int
    large_from_us: int = 0


@dataclass(frozen=True)
class Wait:
    """A job's queue wait, in µs, and the stretches of it that its owner asked for."""

    job: str
    submitted_us: int
    until_us: int
    started: bool
    holds: tuple[tuple[int, int], ...] = ()

    @property
    def counted_us(self) -> int:
        """The wait without the stretches that its owner asked for."""
        return self.until_us - self.submitted_us - sum(end - start for start, end in self.holds)


@dataclass(frozen=True)
class Event:
    """One job's countable event: when it counts, and whether it was bad."""

    job: str
    at_us: int
    bad: bool
    known_us: int = 0


def restart_event(restart: Restart, limit_us: int) -> Event | None:
    """How a restart counts; None while it is open below the limit, or was given up below it."""
    if restart.age_us >= limit_us:
        at_us = restart.detected_us + limit_us
        return Event(restart.job, at_us, True, restart.large_from_us)
    if restart.recovered_us is None:
        return None
    return Event(restart.job, restart.recovered_us, False, restart.large_from_us)


def wait_event(wait: Wait, limit_us: int) -> Event | None:
    """How a queue wait counts; None while it is below the limit, or was cancelled below it."""
    if wait.counted_us >= limit_us:
        return Event(wait.job, _crossing_us(wait, limit_us), True)
    return Event(wait.job, wait.until_us, False) if wait.started else None


def _crossing_us(wait: Wait, limit_us: int) -> int:
    """The moment at which the counted wait reaches the limit."""
    at_us = wait.submitted_us + limit_us
    for start_us, end_us in sorted(wait.holds):
        if start_us >= at_us:
            break
        at_us += end_us - start_us
    return at_us


def entries_of(events: Iterable[Event]) -> list[Entry]:
    """The events as entries of their hours: each counts one."""
    counts: dict[tuple[int, int], list[int]] = {}
    for event in events:
        hour_us = event.at_us // HOUR_US * HOUR_US
        known_us = event.known_us if event.known_us > hour_us + HOUR_US else 0
        found = counts.setdefault((hour_us, known_us), [0, 0])
        found[0] += 1
        found[1] += event.bad
    return [
        Entry(hour_us, total, bad, known_us)
        for (hour_us, known_us), (total, bad) in sorted(counts.items())
    ]


@dataclass(frozen=True)
class Breach:
    """A large run lost more than a checkpoint interval to a storage failure, in µs.

    `mended_us` is when a later restore test of its newest checkpoint passed, None if none did.
    """

    job: str
    at_us: int
    lost_us: int
    interval_us: int
    mended_us: int | None = None


@dataclass(frozen=True)
class StorageFailure:
    """A storage failure of a large run: what it lost against the checkpoint interval, in µs.

    `kind`: interruption, older checkpoint or failed test. None where it is not known.
    """

    job: str
    at_us: int
    kind: str
    lost_us: int | None
    interval_us: int | None
    mended_us: int | None = None

    @property
    def is_judged(self) -> bool:
        """Whether it is known if it broke the promise."""
        return self.lost_us is not None and self.interval_us is not None

    @property
    def breach(self) -> Breach | None:
        """The breach of the promise that it was, None where it was none or nobody knows."""
        if self.lost_us is None or self.interval_us is None or self.lost_us <= self.interval_us:
            return None
        return Breach(self.job, self.at_us, self.lost_us, self.interval_us, self.mended_us)


def standing(breaches: Sequence[Breach], start_us: int, end_us: int) -> list[Breach]:
    """The breaches dated in [start, end) that no restore test mended before its end."""
    return [
        breach
        for breach in breaches
        if start_us <= breach.at_us < end_us
        and (breach.mended_us is None or breach.mended_us >= end_us)
    ]
