"""Kaplan–Meier quantiles, exactly: for spans of which some have not ended yet.

Source: Kaplan, Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958). The
survival after time t is the product over the observed times up to t of (n - d) / n, with d events
among the n spans that had lasted that long. Everything is integer arithmetic: F(t) >= p is decided
by cross-multiplying, never by rounding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby


@dataclass(frozen=True, order=True)
class Span:
    """A duration in µs; censored if it was still going on, or was given up, at that age."""

    age_us: int
    censored: bool = False


def quantile_us(spans: Sequence[Span], p: Fraction) -> int | None:
    """The smallest observed t in µs with F(t) >= p; None where F never reaches p.

    Without censoring this is the nearest-rank percentile. A span censored at t counts as still
    going on at t. Raises ValueError unless 0 < p <= 1.
    """
    if not 0 < p <= 1:
        raise ValueError(f"p = {p} is not in (0, 1]")
    for age_us, alive, at_start in _survival(spans):
        # F >= p  <=>  alive / at_start <= 1 - p
        if alive * p.denominator <= at_start * (p.denominator - p.numerator):
            return age_us
    return None


def having_lasted(spans: Sequence[Span], age_us: int) -> list[Span]:
    """The spans that lasted longer than `age_us`: their quantiles hold given that a span did.

    S(t) / S(age) is the product over the observed times between them, and each factor counts only
    spans that had lasted longer than `age_us`: it is the survival of those alone.
    """
    return [span for span in spans if span.age_us > age_us]


@dataclass(frozen=True)
class Step:
    """The share of spans that had ended by `age_us`, for drawing."""

    age_us: int
    share: float


def curve(spans: Sequence[Span], most: int = 400) -> list[Step]:
    """The whole curve of F, thinned to at most `most` steps; the last one is kept."""
    steps = [
        Step(age_us, 1 - alive / at_start if at_start else 1.0)
        for age_us, alive, at_start in _survival(spans)
    ]
    every = -(-len(steps) // most) or 1
    return steps[::every] + (steps[-1:] if steps and (len(steps) - 1) % every else [])


def _survival(spans: Sequence[Span]) -> Iterator[tuple[int, int, int]]:
    """Yield (observed time in µs, numerator, denominator of the survival after it)."""
    at_risk = len(spans)
    numerator = denominator = 1
    # Between censorings the factors telescope: only their ends are multiplied in.
    block_start = at_risk
    for age_us, group in groupby(sorted(spans), key=lambda span: span.age_us):
        ended = censored = 0
        for span in group:
            ended, censored = (ended, censored + 1) if span.censored else (ended + 1, censored)
        at_risk -= ended
        if ended:
            yield age_us, numerator * at_risk, denominator * block_start
        if censored:
            if block_start:
                numerator, denominator = numerator * at_risk, denominator * block_start
            at_risk -= censored
            block_start = at_risk


def within(spans: Sequence[Span], limit_us: int) -> Fraction | None:
    """The share of spans that ended in under `limit_us`, of those of which it is known.

    A span censored below the limit is not counted yet. None where nothing is known.
    """
    kept = sum(1 for span in spans if not span.censored and span.age_us < limit_us)
    missed = sum(1 for span in spans if span.age_us >= limit_us)
    return Fraction(kept, kept + missed) if kept + missed else None


def longest_us(spans: Sequence[Span]) -> int | None:
    """The longest age in µs, ended or not; None where there is no span."""
    return max((span.age_us for span in spans), default=None)
