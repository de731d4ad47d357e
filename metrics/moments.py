"""What a moment is in text, for records and for questions alike: RFC 3339 with an offset.

In SQL sql/ingest/judged_steps.sql has the same rule, for steps are judged by the file.
"""

import re
from datetime import datetime

EARLIEST_US = 946_684_800_000_000
"""2000-01-01: an earlier stamp is a clock that was never set."""
LATEST_US = 4_102_444_800_000_000
"""2100-01-01: a later stamp would drag the end of every open job there."""

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
    r"([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
    flags=re.ASCII,
)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_MICROSECOND = datetime.resolution


class NoMoment(ValueError):
    """A text that says no moment; the message is why."""


def read_us(text: str) -> int:
    """Microseconds since 1970 UTC of RFC 3339 text with an offset; digits past µs are cut off.

    Raises NoMoment for anything else, and outside the years 2000 to 2099 (UTC).
    """
    if not _RFC3339.fullmatch(text):
        raise NoMoment("not an RFC 3339 timestamp with an offset")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as e:
        raise NoMoment("not a date of the calendar") from e
    us = (moment - _EPOCH) // _MICROSECOND
    if not EARLIEST_US <= us < LATEST_US:
        raise NoMoment("outside the years 2000 to 2099")
    return us
