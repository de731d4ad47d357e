"""What a planned interruption would cost: per job, and to the budgets.

A job that is drained stands still while its nodes are away, then restarts as long as its restarts
take, and does again what it did since its last checkpoint: half an interval on average.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from metrics.budget import Amount
from metrics.conventions import HOUR_US

WEEK_HOURS = 168


@dataclass(frozen=True)
class Interrupted:
    """A job on the nodes; times in µs. What was never measured counts as `assumed_restart_us`."""

    job: str
    gpus: int
    restart_us: int | None
    interval_us: int | None

    def lost_us(self, away_us: int, assumed_restart_us: int) -> int:
        """The wall-clock that it would lose."""
        restart_us = assumed_restart_us if self.restart_us is None else self.restart_us
        return away_us + restart_us + (self.interval_us or 0) // 2


def after(before: Amount, losses_us: Iterable[int]) -> Amount:
    """An amount once these losses were added: the time passes, and all of it is bad."""
    lost_us = sum(losses_us)
    return Amount(before.total + lost_us, before.bad + lost_us)


def cheapest_hours(
    work: Mapping[int, int], from_us: int, weeks: int = 4, most: int = 5
) -> list[tuple[int, int]]:
    """The hours of the coming week with the least running work, as (hour, expected amount).

    `work` is the amount by UTC hour; expected is its mean over the same hour of the last weeks.
    """
    first_us = -(-from_us // HOUR_US) * HOUR_US
    coming = [first_us + place * HOUR_US for place in range(WEEK_HOURS)]
    expected = [(hour_us, _mean(_same_hour(work, hour_us, weeks))) for hour_us in coming]
    return sorted(expected, key=lambda found: (found[1], found[0]))[:most]


def _same_hour(work: Mapping[int, int], hour_us: int, weeks: int) -> list[int]:
    return [work.get(hour_us - n * WEEK_HOURS * HOUR_US, 0) for n in range(1, weeks + 1)]


def _mean(amounts: Sequence[int]) -> int:
    return sum(amounts) // len(amounts)
