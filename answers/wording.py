"""Estimates in words, with the digits that an estimate has."""

from fractions import Fraction

from metrics.conventions import HOUR_US


def span(seconds: float) -> str:
    """A duration in one unit: 1.5 s, 240 s, 65.7 min, 9.0 h, 12.5 d."""
    if seconds < 600:
        return (
            f"{seconds:.0f} s" if seconds >= 100 or seconds == round(seconds) else _short(seconds)
        )
    for length, unit, until in ((60, "min", 5400), (3600, "h", 172_800)):
        if seconds < until:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds / 86400:,.1f} d"


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{seconds:.2g} s"


def percent(share: float) -> str:
    """A share in percent with one decimal; never 0.0 or 100.0 where it is not quite."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{share * 100:,.1f} %"


def whole(share: float) -> str:
    """A share that somebody chose, in percent with the digits that it has."""
    return f"{share * 100:.6g} %"


def hours(us: int) -> str:
    """µs as hours, GPU-µs as GPU-hours: 49,152; a decimal below a hundred, if it is not whole."""
    exact = Fraction(us, HOUR_US)
    if 0 < abs(exact) < Fraction(1, 20):
        return "< 0.1" if us > 0 else "> -0.1"
    whole = exact.denominator == 1 or abs(exact) >= 100
    return f"{round(exact):,}" if whole else f"{float(exact):.1f}"


def plural(amount: int, one: str) -> str:
    """1 restart, 1,204 restarts."""
    return f"{amount:,} {one}" + ("" if amount == 1 else "s")


def size(amount: float) -> str:
    """Bytes in the decimal unit that leaves the fewest digits: 1.4 TB."""
    for length, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= length:
            return f"{amount / length:,.1f} {unit}"
    return f"{amount:,.0f} B"


def number(value: float) -> str:
    """A number for the arithmetic: thousands separated, decimals only below a hundred."""
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:,.3g}"
