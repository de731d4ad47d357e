"""The time of day: read here only, so that everything else is a function of the data."""

import time


def now_us() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1000
