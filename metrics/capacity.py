"""What installed GPU time went to, in the few groups that people plan by, and what it cost.

Utilization is no objective: the gap to 100 % is said as what is held back on purpose, and the rest.
All amounts are GPU-µs, integers of any size; money is an exact fraction until it is printed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from metrics.conventions import CATEGORIES, HOUR_US
from metrics.policy import Price

NODE = "node"
"""The component of GPU time that no job's ledger tells of."""

RESERVES = ("spare_for_restart", "warm_pool", "gang_reserved", "backfill")
"""States of nodes that are held back so that jobs start in time; backfill is lent meanwhile."""

GROUPS = (
    "useful",
    "lost",
    "no_record",
    "reserves",
    "upkeep",
    "down",
    "stranded",
    "idle",
    "unknown",
)
"""In the order in which they are always shown."""

DELIBERATE = ("reserves", "upkeep")
"""What of the gap to 100 % is on purpose: reserves, and nodes drained or taken for maintenance."""

_OF_STATE = dict.fromkeys(RESERVES, "reserves") | {
    "allocated": "no_record",
    "uninstrumented": "no_record",
    "draining": "upkeep",
    "maintenance": "upkeep",
    "down": "down",
    "power_capped": "down",
    "stranded": "stranded",
    "idle": "idle",
    "unknown": "unknown",
}

Key = tuple[str, str]
"""(category, component)"""


def group_of(category: str, component: str) -> str:
    """The group of a row of the capacity ledger.

    Useful steps are useful also on lent or draining nodes, which have them as their component.
    """
    if "useful" in (category, component):
        return "useful"
    if category in CATEGORIES and component != NODE:
        return "lost"
    return _OF_STATE[category]


def is_allocated(category: str, component: str) -> bool:
    """Whether a job had the GPUs, whatever it did with them."""
    if category == "draining":
        return component != NODE
    return category == "backfill" or group_of(category, component) in (
        "useful",
        "lost",
        "no_record",
    )


@dataclass(frozen=True)
class Spent:
    """The capacity ledger of a span, summed: GPU-µs by (category, component)."""

    by_key: Mapping[Key, int]

    @property
    def installed(self) -> int:
        """All of it."""
        return sum(self.by_key.values())

    @property
    def by_group(self) -> dict[str, int]:
        """The groups that there are, in order."""
        sums = dict.fromkeys(GROUPS, 0)
        for key, gpu_us in self.by_key.items():
            sums[group_of(*key)] += gpu_us
        return {group: gpu_us for group, gpu_us in sums.items() if gpu_us}

    @property
    def allocated(self) -> int:
        """What jobs had."""
        return sum(gpu_us for key, gpu_us in self.by_key.items() if is_allocated(*key))

    @property
    def busy(self) -> int:
        """Useful steps, as far as steps are recorded: allocated but idle is waste."""
        return self.by_group.get("useful", 0)

    @property
    def unrecorded(self) -> int:
        """What jobs had that record no steps: nobody knows how much of it was useful."""
        return self.by_group.get("no_record", 0)

    @property
    def is_use_known(self) -> bool:
        """Whether `busy` says anything: not where jobs had GPUs and none told of a useful step."""
        return bool(self.busy) or not self.unrecorded

    @property
    def deliberate(self) -> int:
        """What of the gap is on purpose."""
        return sum(self.by_group.get(group, 0) for group in DELIBERATE)

    @property
    def rest(self) -> int:
        """What of the gap is not."""
        return self.installed - self.busy - self.deliberate

    def share(self, gpu_us: int) -> Fraction | None:
        """Its share of what is installed; None where nothing is."""
        return Fraction(gpu_us, self.installed) if self.installed else None


def cost(gpu_us: int, price: Price) -> Fraction:
    """What GPU time cost, exactly, in the policy's currency."""
    return Fraction(gpu_us, HOUR_US) * Fraction(price.per_gpu_hour)


def rounded(parts: Sequence[Fraction]) -> list[int]:
    """Each part in whole units, so that they add up to the rounded sum of all.

    Rounded down, the units that are missing then go to the largest remainders.
    """
    whole = [int(part) for part in parts]
    missing = round(sum(parts, Fraction(0))) - sum(whole)
    by_rest = sorted(range(len(parts)), key=lambda i: (whole[i] - parts[i], i))
    for place in by_rest[: max(missing, 0)]:
        whole[place] += 1
    return whole
