"""What became of jobs: the rows of the truth that are compared with what the product answers.

All times are integer microseconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RestartRow:
    """One restart; None for what cannot be known of a job without steps."""

    job: str
    detected_us: int
    recovered_us: int | None
    cause: str
    outcome: str
    basis: str | None
    attempts_used: int
    interruptions: int
    lost_steps: int | None
    time_to_restart_us: int | None
    detect_us: int | None
    requeue_us: int
    launch_us: int
    load_us: int
    first_step_us: int | None


@dataclass(frozen=True)
class WaitRow:
    """How long a job waited from its submission to its first step."""

    job: str
    tier: str
    submitted_us: int
    started_us: int | None
    wait_us: int
    censored: bool
    basis: str | None


@dataclass(frozen=True)
class WaitTurn:
    """A stretch of a queue wait: part and reason as `headway why` has them."""

    job: str
    start_us: int
    end_us: int
    part: str
    """pending (with its reason, empty before any is given), launch, load, first_step or requeue"""
    reason: str


@dataclass(frozen=True)
class WaitingRow:
    """A job that waits at the end of the simulated time; None where nothing is set aside for it."""

    job: str
    since_us: int
    is_again: bool
    part: str
    reason: str
    reason_since_us: int
    gpus: int
    gathered_gpus: int | None
    gathered_since_us: int | None


@dataclass(frozen=True)
class Breach:
    """A promise that was not kept to a job."""

    job: str
    attempt: int
    kind: str
    """no_signal, short_grace or durability"""
    at_us: int
    promised_us: int
    """The grace window; of durability the checkpoint interval."""
    given_us: int
    """The time from the signal to the reclaim; of durability the rework that the loss cost."""
