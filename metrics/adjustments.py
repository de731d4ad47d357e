"""Audited changes to what counts: time that is taken out, interruptions with another cause."""

from dataclasses import dataclass

from metrics.scope import Scope


@dataclass(frozen=True)
class Exclusion:
    """Whole UTC hours, in µs, that count for none of a scope's budgets (a facility outage)."""

    scope: Scope
    from_us: int
    until_us: int


@dataclass(frozen=True)
class Reattribution:
    """A restart of a job, by when it was detected in µs, and the cause that it really had."""

    job: str
    detected_us: int
    cause: str


@dataclass(frozen=True)
class Adjustments:
    """All that are in force."""

    exclusions: tuple[Exclusion, ...] = ()
    reattributions: tuple[Reattribution, ...] = ()
