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
