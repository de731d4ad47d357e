"""Error budgets over a rolling window of 30 days, exactly.

Amounts are integers: GPU-µs, µs or counts. Shares are fractions. A decision compares them as such,
never as floats: `1-(1000/10000)/(1-0.9)` is -2.2e-16 in floats, a false freeze.

Sources: Beyer et al., "The Site Reliability Workbook" (2018), chapter 5 (burn rates and alerts);
ACCOUNTING section 9.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm

from metrics.conventions import HOUR_US
from metrics.policy import WINDOW_HOURS, AlertWindow

WINDOW_US = WINDOW_HOURS * HOUR_US
SPANS_H = {"1h": 1, "6h": 6, "1d": 24, "3d": 72, "30d": WINDOW_HOURS}
"""The spans over which burn rates are given, in hours."""

PRESENT_BURN = "1d"
"""The span whose burn rate forecasts go on with: shorter ones are one restart's noise."""


class State(enum.StrEnum):
    """What a budget says."""

    UNKNOWN = "unknown"
    """No data in the window, or data older than the policy allows."""
    INSUFFICIENT = "insufficient"
    """Too little to gate on: shown only."""
    WITHIN = "within"
    EXHAUSTED = "exhausted"


class Unit(enum.StrEnum):
    """What a budget counts."""

    US = "us"
    GPU_US = "gpu_us"
    COUNT = "count"


@dataclass(frozen=True)
class Entry:
    """What one UTC hour adds. It counts from `known_us` on: a job becomes large in its course."""

    hour_us: int
    total: int
    bad: int
    known_us: int = 0


@dataclass(frozen=True)
class Amount:
    """A total, and how much of it was bad."""

    total: int = 0
    bad: int = 0


@dataclass(frozen=True)
class Budget:
    """An amount against a target share of good."""

    amount: Amount
    target: Fraction

    @property
    def allowance(self) -> Fraction:
        """(1 - target) × total, exactly."""
        return (1 - self.target) * self.amount.total

    @property
    def allowed(self) -> int:
        """The allowance in whole units; decisions use the exact one."""
        return int(self.allowance)

    @property
    def remaining(self) -> int:
        """What is left of it in whole units; negative when overspent."""
        return self.allowed - self.amount.bad

    @property
    def remaining_share(self) -> Fraction | None:
        """The share of the allowance that is left; None where nothing is allowed."""
        if not self.allowance:
            return None
        return (self.allowance - self.amount.bad) / self.allowance

    @property
    def is_exhausted(self) -> bool:
        """bad >= allowance, with anything bad at all."""
        bad, allowed = self._scaled()
        return bad > 0 and bad >= allowed

    def has_left(self, share: Fraction) -> bool:
        """Whether at least that share of the allowance is left."""
        bad, allowed = self._scaled()
        return (allowed - bad) * share.denominator >= share.numerator * allowed

    def _scaled(self) -> tuple[int, int]:
        # What is bad and what is allowed, both times the target's denominator: whole numbers, as
        # every hour of a month is compared.
        whole = self.target.denominator
        return self.amount.bad * whole, self.amount.total * (whole - self.target.numerator)

    def burn_rate(self) -> Fraction | None:
        """(bad / total) / (1 - target); None without any total, or for a promise of 1."""
        if not self.allowance:
            return None
        return self.amount.bad / self.allowance


def state_of(budget: Budget, minimum: int, weight: int, stale: bool) -> State:
    """The state of a budget. `weight` is what the policy's minimum is compared with."""
    if stale or not budget.amount.total:
        return State.UNKNOWN
    if weight < minimum:
        return State.INSUFFICIENT
    return State.EXHAUSTED if budget.is_exhausted else State.WITHIN


def window_end_us(as_of_us: int) -> int:
    """The end of the window of a moment: the moment rounded up to the hour, in µs."""
    return -(-as_of_us // HOUR_US) * HOUR_US


def amount(entries: Iterable[Entry], end_us: int, hours: int = WINDOW_HOURS) -> Amount:
    """The sum over the whole hours that end at `end_us`, of what is known by then."""
    start_us = end_us - hours * HOUR_US
    found = [e for e in entries if start_us <= e.hour_us < end_us and e.known_us <= end_us]
    return Amount(sum(e.total for e in found), sum(e.bad for e in found))


def rolling(entries: Iterable[Entry], first_us: int, last_us: int) -> list[Amount]:
    """The window's amount at each whole hour from `first_us` to `last_us`, both included.

    Each entry is added where it enters the window and taken out where it leaves: one pass.
    """
    places = (last_us - first_us) // HOUR_US + 1
    totals, bads = [0] * (places + 1), [0] * (places + 1)
    for entry in entries:
        enters_us = max(entry.hour_us + HOUR_US, window_end_us(entry.known_us), first_us)
        leaves_us = entry.hour_us + WINDOW_US + HOUR_US
        enters = (enters_us - first_us) // HOUR_US
        leaves = min((leaves_us - first_us) // HOUR_US, places)
        if enters < leaves:
            totals[enters] += entry.total
            totals[leaves] -= entry.total
            bads[enters] += entry.bad
            bads[leaves] -= entry.bad
    sums = zip(accumulate(totals[:-1]), accumulate(bads[:-1]), strict=True)
    return [Amount(total, bad) for total, bad in sums]


def burn_rates(
    entries: Sequence[Entry], target: Fraction, end_us: int
) -> dict[str, Fraction | None]:
    """Burn rates over each of SPANS_H; None where a span holds nothing."""
    return {
        name: Budget(amount(entries, end_us, hours), target).burn_rate()
        for name, hours in SPANS_H.items()
    }


def exhaustion_us(budget: Budget, burn: Fraction | None, as_of_us: int) -> int | None:
    """When the rest of the budget is spent at a burn rate; None where it never is, or is already.

    A burn of b spends a whole budget in 30 days / b. It assumes that the wall-clock goes on as in
    the window, so that a burn below 1 can go on for ever.
    """
    left = budget.remaining_share
    if burn is None or left is None or left <= 0 or burn < 1:
        return None
    return as_of_us + int(left * WINDOW_US / burn)


@dataclass(frozen=True)
class Thaw:
    """When a budget is back above the thaw level, and what was assumed about the hours until then.

    `at_us` is None where it is not within a whole window. `hourly_total` is the wall-clock (or the
    events) assumed in each coming hour, of which `burn` times the allowed share is bad.
    """

    at_us: int | None
    hourly_total: Fraction
    burn: Fraction


def thaw(
    entries: Sequence[Entry],
    target: Fraction,
    end_us: int,
    level: Fraction,
    burn: Fraction = Fraction(0),
) -> Thaw:
    """Let the window roll over the recorded hours until `level` of the allowance is left.

    The coming hours hold what the last 24 held on average, at that burn rate.
    """
    hourly_total = Fraction(amount(entries, end_us, 24).total, 24)
    # So much of a total may be bad; each coming hour brings `rise` more bad than that.
    share = (1 - target) * (1 - level)
    rise = (burn * (1 - target) - share) * hourly_total
    # Compared as integers: in fractions this was most of the time that the gate takes to answer.
    scale = lcm(share.denominator, rise.denominator)
    share_scaled, rise_scaled = int(share * scale), int(rise * scale)
    recorded = rolling(entries, end_us, end_us + WINDOW_US)
    for hours, rolled in enumerate(recorded):
        if share_scaled * rolled.total >= scale * rolled.bad + hours * rise_scaled:
            return Thaw(end_us + hours * HOUR_US, hourly_total, burn)
    return Thaw(None, hourly_total, burn)


def coming(
    entries: Sequence[Entry], target: Fraction, end_us: int, burn: Fraction, hours: int
) -> Iterator[tuple[int, Fraction, Fraction]]:
    """The allowance and what is bad at each of the coming whole hours, the present one first.

    They hold what the last 24 held on average, at that burn rate.
    """
    hourly_total = Fraction(amount(entries, end_us, 24).total, 24)
    hourly_bad = burn * (1 - target) * hourly_total
    for hour, rolled in enumerate(rolling(entries, end_us, end_us + hours * HOUR_US)):
        total = rolled.total + hour * hourly_total
        yield end_us + hour * HOUR_US, (1 - target) * total, rolled.bad + hour * hourly_bad


def is_over_cautious(budget: Budget, covers_window: bool, spent: Fraction) -> bool:
    """Whether less than that share of a budget was spent over a whole window."""
    return bool(covers_window and budget.allowance and budget.amount.bad < spent * budget.allowance)


@dataclass(frozen=True)
class Alert:
    """A pair of windows that burns fast enough to alert: both at or above the factor."""

    window: AlertWindow
    long: Fraction
    short: Fraction


def alerts(
    entries: Sequence[Entry], target: Fraction, end_us: int, windows: Iterable[AlertWindow]
) -> list[Alert]:
    """The alerts that fire: burn over the long and over the short window reach the factor."""
    firing = []
    for window in windows:
        long = Budget(amount(entries, end_us, window.long_h), target).burn_rate()
        short = Budget(amount(entries, end_us, window.short_h), target).burn_rate()
        if long is not None and short is not None and min(long, short) >= window.factor:
            firing.append(Alert(window, long, short))
    return firing


def cost_of_restart(mean_between_us: int, restart_us: int) -> Fraction:
    """The share of goodput that a restart of that length costs each mean time between two.

    At 3 h between interruptions a minute of restart costs 1/180: 0.5556 %.
    """
    return Fraction(restart_us, mean_between_us)
