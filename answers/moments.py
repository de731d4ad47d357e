"""Moments as programs write and read them: RFC 3339 with an offset, exact to the microsecond."""

import re
from datetime import UTC, datetime, timedelta

from metrics.errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def rfc3339(us: int | None) -> str | None:
    """`2026-10-01T12:00:00Z`, with a fraction where there is one; None stays None."""
    if us is None:
        return None
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def moment_us(text: str, option: str = "as_of") -> int:
    """The moment in µs that a text says. Raises UsageError, naming the option it was given for.

    Only the years 2000 to 2099 are taken: what is outside them is a slip, not a question.
    """
    example = "say it like 2026-10-01T12:00:00Z"
    if not _RFC3339.fullmatch(text):
        raise UsageError(f"{option} {text}: not an RFC 3339 timestamp with an offset; {example}")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as e:
        raise UsageError(f"{option} {text}: not a date of the calendar; {example}") from e
    if not 2000 <= moment.year <= 2099:
        raise UsageError(f"{option} {text}: outside the years 2000 to 2099; {example}")
    return (moment - _EPOCH) // timedelta(microseconds=1)
