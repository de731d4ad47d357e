"""Moments as programs read them: RFC 3339 in UTC, exact to the microsecond."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(us: int | None) -> str | None:
    """`2026-10-01T12:00:00Z`, with a fraction where there is one; None stays None."""
    if us is None:
        return None
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")
