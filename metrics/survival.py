"""Kaplan–Meier quantiles, exactly: for spans of which some have not ended yet.

Source: Kaplan, Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958). The
survival after time t is the product over the observed times up to t of (n - d) / n, with d events
among the n spans that had lasted that long. Everything is integer arithmetic: F(t) >= p is decided
by bounds that are never wrong, and where they leave it open by cross-multiplying.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from math import prod
from operator import attrgetter


@dataclass(frozen=True)
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
    for age_us, survival in _survival(spans):
        if survival.is_at_most(1 - p):
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
    steps = [Step(age_us, 1 - float(survival)) for age_us, survival in _survival(spans)]
    every = -(-len(steps) // most) or 1
    return steps[::every] + (steps[-1:] if steps and (len(steps) - 1) % every else [])


_WHOLE = 1 << 128


@dataclass
class _Survival:
    """A survival, exactly: the product of the `settled` ratios and of `alive` / `at_start`.

    The product of thousands of ratios has thousands of digits, so it is kept between two integers
    in units of 2^-128: these tell it from nearly every number that it is compared with.
    """

    alive: int
    at_start: int
    settled: list[tuple[int, int]] = field(default_factory=list)
    low: int = _WHOLE
    high: int = _WHOLE

    def settle(self) -> None:
        """Multiply the present ratio in: from here on it changes by another one."""
        self.settled.append((self.alive, self.at_start))
        self.low = self.low * self.alive // self.at_start
        self.high = -(-self.high * self.alive // self.at_start)

    def is_at_most(self, share: Fraction) -> bool:
        """Whether it is at most the share."""
        limit = share * self.at_start * _WHOLE
        if self.high * self.alive <= limit:
            return True
        if self.low * self.alive > limit:
            return False
        over = prod(alive for alive, _ in self.settled) * self.alive
        under = prod(at_start for _, at_start in self.settled) * self.at_start
        return over * share.denominator <= under * share.numerator

    def __float__(self) -> float:
        return self.low * self.alive / (_WHOLE * self.at_start)


def _survival(spans: Sequence[Span]) -> Iterator[tuple[int, _Survival]]:
    """Yield each observed time in µs, and the survival after it (one object, which changes)."""
    by_age = attrgetter("age_us")
    # Between censorings the ratios telescope: only their ends count.
    survival = _Survival(len(spans), len(spans))
    for age_us, group in groupby(sorted(spans, key=by_age), key=by_age):
        ended = censored = 0
        for span in group:
            ended, censored = (ended, censored + 1) if span.censored else (ended + 1, censored)
        survival.alive -= ended
        if ended:
            yield age_us, survival
        if censored:
            survival.settle()
            survival.alive = survival.at_start = survival.alive - censored


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
