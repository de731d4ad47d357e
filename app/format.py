"""Numbers as people say them: two units, one decimal, a true minus, words for the unknown."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

from metrics.conventions import HOUR_US, MINUTE_US, US_PER_MS, US_PER_S
from metrics.policy import Price

UNKNOWN = "unknown"
NBSP = "\u00a0"
"""Between a number and its unit: no line of a text ends there."""

_MARKUP = re.compile(r"[\\`*_\[\]<>$~#&|]")

Number = int | Fraction | float


def spaced(text: str) -> str:
    """The text with plain spaces alone, as what is copied, searched or compared has them."""
    return text.replace(NBSP, " ")


_SPACES = re.compile(rf"[^\S{NBSP}]+")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|µs|ms|s|min|h|d|GPU-h)(?!\w))")


def plain(text: object) -> str:
    """What people or records say, for a page's Markdown: shown as it was written, in one line.

    What they number stays with its unit.
    """
    in_line = _SPACES.sub(" ", str(text)).strip()
    return _MARKUP.sub(r"\\\g<0>", _BEFORE_UNIT.sub(NBSP, in_line))


def duration(us: int | None) -> str:
    """A duration in its two largest units: 9 min 18 s, 14 d 8 h; `unknown` for None."""
    if us is None:
        return UNKNOWN
    if us < 0:
        return "−" + duration(-us)
    if us < US_PER_MS:
        return f"{us}{NBSP}µs" if us else f"0{NBSP}s"
    if us < US_PER_S:
        return f"{us // US_PER_MS}{NBSP}ms"
    if us < 10 * US_PER_S:
        return f"{us / US_PER_S:.1f}{NBSP}s"
    seconds = (us + US_PER_S // 2) // US_PER_S
    for length, unit, part, small in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if seconds >= length:
            rest = seconds % length // part
            return f"{seconds // length}{NBSP}{unit}" + (f" {rest}{NBSP}{small}" if rest else "")
    return f"{seconds}{NBSP}s"


def unit_for(us: int) -> tuple[int, str]:
    """The one unit of a chart whose longest value is `us`: its length in µs, and its name."""
    if us >= 2 * HOUR_US:
        return HOUR_US, "h"
    return (MINUTE_US, "min") if us >= 2 * MINUTE_US else (US_PER_S, "s")


def tenths(parts: Sequence[int], unit_us: int) -> list[int]:
    """Each part in whole tenths of a unit, so that they add up to the rounded sum of all.

    Rounded down, the tenths that are missing then go to the largest remainders.
    """
    tenth = Fraction(unit_us, 10)
    whole = [int(part / tenth) for part in parts]
    missing = round(sum(parts) / tenth) - sum(whole)
    by_rest = sorted(range(len(parts)), key=lambda i: (whole[i] - parts[i] / tenth, i))
    for place in by_rest[: max(missing, 0)]:
        whole[place] += 1
    return whole


def decimal(tenth: int) -> str:
    """Tenths as a number with one decimal: 1234 is 123.4."""
    sign = "−" if tenth < 0 else ""
    return f"{sign}{abs(tenth) // 10:,}.{abs(tenth) % 10}"


def percent(share: Number | None, digits: int = 1) -> str:
    """81.0 %; < 0.1 % and > 99.9 % where rounding would say nothing or all; a true minus."""
    if share is None:
        return UNKNOWN
    value = float(share)
    if 0 < value < 0.001 and digits:
        return f"<{NBSP}0.1{NBSP}%"
    if 0.9995 <= value < 1 and digits:
        return f">{NBSP}99.9{NBSP}%"
    return f"{value * 100:,.{digits}f}{NBSP}%".replace("-", "−")


def count(number: int) -> str:
    """An integer with thousands separated, a million and more in millions."""
    if abs(number) >= 1_000_000:
        return f"{number / 1e6:,.2f}{NBSP}M".replace("-", "−")
    return f"{number:,}".replace("-", "−")


def gpu_hours(gpu_us: int) -> str:
    """GPU-µs as GPU-hours: 59,720 GPU-h; one decimal below a hundred."""
    hours = Fraction(gpu_us, HOUR_US)
    if not gpu_us:
        return f"0{NBSP}GPU-h"
    if abs(hours) < 100:
        return f"{float(hours):,.1f}".replace("-", "−") + f"{NBSP}GPU-h"
    return f"{count(round(hours))}{NBSP}GPU-h"


def amount(value: int, unit: str) -> str:
    """An amount of a budget in its unit: GPU-µs, µs or a count."""
    if unit == "gpu_us":
        return gpu_hours(value)
    if unit == "us":
        return f"{decimal(round(Fraction(value * 10, HOUR_US)))}{NBSP}h"
    return count(value)


def burn(rate: Number | None) -> str:
    """A burn rate: 1.2×."""
    return UNKNOWN if rate is None else f"{float(rate):.1f}×"


def when(us: int | None) -> datetime:
    """A moment as an aware datetime."""
    return datetime.fromtimestamp((us or 0) / US_PER_S, UTC)


def moment(us: int | None, zone: str | None = None) -> str:
    """Sat 31 Oct 14:00 UTC, with the reader's own time beside it where that differs."""
    if us is None:
        return UNKNOWN
    at = when(us)
    said = f"{at:%a} {at.day} {at:%b %H:%M} UTC"
    if zone and (own := _local(at, zone)) and own.utcoffset() != at.utcoffset():
        said += f" ({own:%H:%M} {zone.rsplit('/', 1)[-1].replace('_', ' ')})"
    return said


def _local(at: datetime, zone: str) -> datetime | None:
    try:
        return at.astimezone(ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        return None


def day(us: int) -> str:
    """31 Oct."""
    at = when(us)
    return f"{at.day} {at:%b}"


def capital(text: str) -> str:
    """The text with a capital first letter, all else as it is."""
    return text[:1].upper() + text[1:]


def plural(number: int, one: str, many: str | None = None) -> str:
    """1 restart, 2 restarts."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def money(amount: Fraction, price: Price) -> str:
    """An amount of the policy's currency in whole units: $119,440."""
    sign = {"USD": "$", "EUR": "€", "GBP": "£"}.get(price.currency, f"{price.currency} ")
    return f"{sign}{round(amount):,}".replace("-", "−")


_NUMBER = re.compile(r"(?:[<>]\s)?[−+]?[$€£]?\d[\d,.]*(?:\s.*)?")


def are_numbers(column: Iterable[object]) -> bool:
    """Whether a column holds numbers with their units, and words only where one is unknown."""
    said = [str(cell) for cell in column]
    others = [text for text in said if not _NUMBER.fullmatch(text)]
    return len(others) < len(said) and not any(re.search(r"\d", text) for text in others)
