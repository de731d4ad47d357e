"""Names and units that stand for the same thing everywhere, each written once."""

US_PER_MS = 1_000
US_PER_S = 1_000_000
HOUR_US = 3600 * US_PER_S
"""The grain of the ledger: a UTC hour in microseconds."""
DAY_US = 24 * HOUR_US

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
"""Causes that an interruption may have."""

CHARGED_CAUSES = (*CAUSES, "suspended", "rollback")
"""Causes that a row of the ledger may have: suspended and rollback are the owner's doing."""

CATEGORIES = (
    "startup",
    "restart",
    "preemption",
    "maintenance",
    "job",
    "loader",
    "straggler",
    "checkpoint",
    "unattributed",
)
"""What instrumented time that is not useful may have gone to."""


def category_of(cause: str) -> str:
    """The category of time lost to a cause."""
    if cause in ("preemption", "maintenance"):
        return cause
    return "job" if cause in ("job_error", "suspended", "rollback") else "restart"
