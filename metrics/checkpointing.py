"""How often to save a checkpoint, and what that costs: estimates in seconds, as floats.

With a save that blocks the loop for C, failures every M on average and restarts of R, a job that
saves every T loses these shares of its wall-clock, to first order (J. W. Young, "A first order
approximation to the optimum checkpoint interval", CACM 17, 1974):

    saving C/T,   work done again T/2M,   restarts R/M

The first two are least, and equal, at T* = sqrt(2CM). How much an interval T costs above that is
(sqrt(C/T) - sqrt(T/2M))^2, from which the flat region and the conditions to revisit follow.

The formula holds while failures are rare: it adds up what each would cost alone. Where failures are
exponential and strike saves and restarts too, the goodput is that of `Costs.exact_goodput` (J. T.
Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22,
2006). Against it, and against a simulation, the formula is pessimistic: by less than a point while
T + C + R is below a seventh of M, 5 points at a third, 13 at two thirds. The interval it advises
stays good for longer: within 0.3 points of the best one at all of these.

`planner` is apart from this: it is about interruptions that somebody plans.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, lgamma, log, sqrt


@dataclass(frozen=True)
class Overhead:
    """Shares of the wall-clock that are lost, to first order."""

    save: float
    lost_work: float
    restart: float

    @property
    def total(self) -> float:
        """All of it; past 1 where failures come faster than the job gets on."""
        return self.save + self.lost_work + self.restart


@dataclass(frozen=True)
class Costs:
    """What the interval depends on, in seconds, all above 0 (`restart_s` may be 0).

    `save_s` is what a save blocks the loop for, `restart_s` the time from a failure to the next
    completed step, `mtbf_s` the mean wall-clock between failures.
    """

    save_s: float
    mtbf_s: float
    restart_s: float

    @property
    def best_interval_s(self) -> float:
        """T* = sqrt(2CM)."""
        return sqrt(2 * self.save_s * self.mtbf_s)

    def overhead(self, interval_s: float) -> Overhead:
        """The parts of what is lost when saving at that interval."""
        return Overhead(
            self.save_s / interval_s,
            interval_s / (2 * self.mtbf_s),
            self.restart_s / self.mtbf_s,
        )

    def flat_region_s(self, points: float) -> tuple[float, float]:
        """The intervals that lose at most `points` (a share of the wall) more than the best one.

        The roots of T/2M + C/T = sqrt(2C/M) + points.
        """
        limit = sqrt(2 * self.save_s / self.mtbf_s) + points
        high_s = self.mtbf_s * (limit + sqrt(limit * limit - 2 * self.save_s / self.mtbf_s))
        # The roots multiply to 2CM; their difference would cancel out for large M.
        return 2 * self.save_s * self.mtbf_s / high_s, high_s

    def save_range_s(self, interval_s: float, points: float) -> tuple[float, float]:
        """The costs of a save for which that interval stays within `points` of the best."""
        low, high = _squares(interval_s / (2 * self.mtbf_s), points)
        return interval_s * low, interval_s * high

    def mtbf_range_s(self, interval_s: float, points: float) -> tuple[float, float]:
        """The times between failures for which it does; the longest may be infinite."""
        low, high = _squares(self.save_s / interval_s, points)
        return interval_s / (2 * high), interval_s / (2 * low) if low else inf

    def save_s_for(self, goodput: float) -> float | None:
        """The longest save with which the best interval reaches that goodput; None: none does.

        From sqrt(2C/M) + R/M = 1 - goodput.
        """
        left = 1 - goodput - self.restart_s / self.mtbf_s
        return self.mtbf_s / 2 * left * left if left > 0 else None

    def exact_goodput(self, interval_s: float) -> float:
        """The goodput where failures are exponential and strike restarts and saves too.

        Each failure begins a restart; of the time until the next one, every whole T + C after it
        holds T of work that stays: T/M * exp(-R/M) / (exp((T + C)/M) - 1).
        """
        whole = (interval_s + self.save_s) / self.mtbf_s
        if whole > 700:  # past what exp can hold: no interval ever ends
            return 0.0
        return interval_s / self.mtbf_s * exp(-self.restart_s / self.mtbf_s) / expm1(whole)


def _squares(part: float, points: float) -> tuple[float, float]:
    """The squares of sqrt(part) -+ sqrt(points), the lower one not below 0."""
    return max(0.0, sqrt(part) - sqrt(points)) ** 2, (sqrt(part) + sqrt(points)) ** 2


@dataclass(frozen=True)
class Saving:
    """How a checkpoint is written: `save_s` is what one writer takes, all of it.

    n writers take an n-th, until the file system takes no more: then it is size / bandwidth, where
    both are known (bytes, and bytes a second). Of that, `blocking_fraction` blocks the loop.
    """

    save_s: float
    writers: int = 1
    blocking_fraction: float = 1.0
    size: float | None = None
    bandwidth: float | None = None

    @property
    def alone_s(self) -> float | None:
        """What the file system takes at its full speed; None where that is not known."""
        if self.size is None or self.bandwidth is None:
            return None
        return self.size / self.bandwidth

    @property
    def write_s(self) -> float:
        """From the beginning of a save until it is durable."""
        return max(self.save_s / self.writers, self.alone_s or 0.0)

    @property
    def blocks_s(self) -> float:
        """What the loop waits for."""
        return self.blocking_fraction * self.write_s

    @property
    def is_saturated(self) -> bool:
        """Whether more writers would not be faster."""
        return self.alone_s is not None and self.save_s / self.writers <= self.alone_s

    @property
    def writer_speed(self) -> float | None:
        """Bytes a second of each writer; None where the size is not known."""
        return None if self.size is None else self.size / self.writers / self.write_s


@dataclass(frozen=True)
class Shared:
    """K jobs that save alike on one file system, in seconds.

    `alone_s` is what a save takes at the file system's full speed: `write_s` where one job's save
    is all that it can take.
    """

    jobs: int
    interval_s: float
    write_s: float
    alone_s: float

    @property
    def load(self) -> float:
        """The share of the file system that all saves together need; past 1 they never end."""
        return self.jobs * self.alone_s / self.interval_s

    @property
    def collision_chance(self) -> float:
        """That a save overlaps another job's, where each begins at a random moment.

        Two stretches of W on a circle of T overlap with the chance 2W/T.
        """
        overlap = min(1.0, 2 * self.write_s / self.interval_s)
        return 1.0 - (1.0 - overlap) ** (self.jobs - 1)

    @property
    def offset_s(self) -> float:
        """By how much each job begins after the one before it, staggered evenly."""
        return self.interval_s / self.jobs

    @property
    def is_staggered_free(self) -> bool:
        """Whether staggered saves never overlap."""
        return self.write_s <= self.offset_s

    @property
    def slowdown(self) -> float | None:
        """How many times longer a save takes beside the others' at random moments; None: no end.

        The file system shared evenly among those who write (M/G/1 processor sharing): 1/(1 - load).
        """
        if self.load >= 1:
            return None
        return max(1.0, self.alone_s / (1 - self.load) / self.write_s)

    @property
    def at_once_s(self) -> float:
        """What each save takes when all jobs begin at the same moment."""
        return max(self.write_s, self.jobs * self.alone_s)

    @property
    def shortest_interval_s(self) -> float:
        """The interval below which the file system cannot take all saves, however staggered."""
        return self.jobs * self.alone_s


@dataclass(frozen=True)
class Warned:
    """Costs of a job that is warned `warning_s` before each failure, in time to save once more.

    A save of `write_s` must be durable by then. Assumed of it: it blocks the loop for C as any
    other, and what is trained between its snapshot and the end is not counted as lost.
    """

    costs: Costs
    write_s: float
    warning_s: float

    @property
    def fits(self) -> bool:
        """Whether a save ends within the warning."""
        return self.write_s <= self.warning_s

    def overhead_with_saves(self, interval_s: float) -> float:
        """Saves go on at the interval, in case a warning fails: C/T + R/M + C/M."""
        found = self.costs.overhead(interval_s)
        return found.save + self.overhead_without_saves

    @property
    def overhead_without_saves(self) -> float:
        """Every failure is warned of, and nothing else is saved: R/M + C/M."""
        return (self.costs.restart_s + self.costs.save_s) / self.costs.mtbf_s

    @property
    def jobs_at_once(self) -> int:
        """How many jobs' saves fit where each alone takes all of the file system."""
        return int(self.warning_s // self.write_s)


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval; `high` is infinite where no event came."""

    mean: float
    low: float
    high: float

    def scaled(self, by: float) -> "Estimate":
        """The same in another unit."""
        return Estimate(self.mean * by, self.low * by, self.high * by)


@lru_cache(maxsize=256)
def mean_between(exposure: float, events: int, confidence: float) -> Estimate:
    """The mean time between events of a Poisson process, of which `events` came in `exposure`.

    The interval is the exact one (F. Garwood, Biometrika 28, 1936): its ends are the rates at which
    so many events or more, or so many or fewer, have the chance (1 - confidence) / 2. It equals
    2E / chi-squared. Without an event the mean is infinite, and only `low` says anything.
    """
    tail = (1 - confidence) / 2
    most = _solve(lambda mean: at_most(events, mean) > tail, events)
    if events == 0:
        return Estimate(inf, exposure / most, inf)
    least = _solve(lambda mean: 1 - at_most(events - 1, mean) < tail, events)
    return Estimate(exposure / events, exposure / most, exposure / least)


def at_most(events: int, mean: float) -> float:
    """The chance of at most so many events of a Poisson distribution with that mean, above 0.

    Summed from the last term on, each got from the one before, until they no longer count.
    """
    term = total = exp(events * log(mean) - mean - lgamma(events + 1))
    if not term:  # too far in a tail for a float
        return 1.0 if mean < events else 0.0
    for n in range(events, 0, -1):
        term *= n / mean
        total += term
        if n < mean and term < total * 1e-17:
            break
    return min(1.0, total)


def _solve(is_below: Callable[[float], bool], near: int) -> float:
    """Where a condition that holds for small means ceases to, by bisection."""
    low, high = 0.0, float(near + 1)
    while is_below(high):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high
