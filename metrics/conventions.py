"""Names and units that stand for the same thing everywhere, each written once."""

from typing import Literal, get_args

US_PER_MS = 1_000
US_PER_S = 1_000_000
MINUTE_US = 60 * US_PER_S
HOUR_US = 60 * MINUTE_US
"""The grain of the ledger: a UTC hour in microseconds."""
DAY_US = 24 * HOUR_US

Cause = Literal[
    "hardware",
    "network",
    "storage",
    "software",
    "preemption",
    "maintenance",
    "job_error",
    "unknown",
]
"""Causes that an interruption may have."""
CAUSES: tuple[str, ...] = get_args(Cause)

ChargedCause = Literal[Cause, "suspended", "rollback"]
"""Causes that a row of the ledger may have: suspended and rollback are the owner's doing."""

Component = Literal[
    "launch",
    "load",
    "first_step",
    "requeue",
    "detect",
    "rework",
    "step",
    "overhead",
    "slow_step",
    "pause",
    "phase",
    "window",
    "gap",
    "tail",
]
"""What of a category instrumented time that is not useful went to."""

Category = Literal[
    "startup",
    "restart",
    "preemption",
    "maintenance",
    "job",
    "loader",
    "straggler",
    "checkpoint",
    "unattributed",
]
"""What instrumented time that is not useful may have gone to."""
CATEGORIES: tuple[str, ...] = get_args(Category)

TakenState = Literal[
    "allocated",
    "spare_for_restart",
    "warm_pool",
    "draining",
    "gang_reserved",
    "backfill",
    "maintenance",
    "down",
    "power_capped",
]
"""States of a node that something tells of; where none holds, it is idle."""
NodeState = Literal[TakenState, "idle"]
"""States that a node may be in."""
NODE_STATES: tuple[str, ...] = get_args(NodeState)


def category_of(cause: str) -> str:
    """The category of time lost to a cause."""
    if cause in ("preemption", "maintenance"):
        return cause
    return "job" if cause in ("job_error", "suspended", "rollback") else "restart"
