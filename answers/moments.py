"""Moments as programs write and read them: RFC 3339 with an offset, exact to the microsecond."""

from datetime import UTC, datetime, timedelta

from metrics.errors import UsageError
from metrics.moments import NoMoment, read_us

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(us: int | None) -> str | None:
    """`2026-10-01T12:00:00Z`, with a fraction where there is one; None stays None."""
    if us is None:
        return None
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def moment_us(text: str, option: str = "as_of") -> int:
    """The moment in µs that a text says. Raises UsageError, naming the option it was given for."""
    try:
        return read_us(text)
    except NoMoment as e:
        raise UsageError(f"{option} {text}: {e}; say it like 2026-10-01T12:00:00Z") from e
