"""Fair shares as they really were: what each tenant's jobs held, was guaranteed, lent, borrowed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from metrics.conventions import HOUR_US
from pipelines.simulation.painting import hours


@dataclass(frozen=True)
class ShareRow:
    """One tenant's hour, in GPU-microseconds."""

    hour_us: int
    tenant: str
    guaranteed_gpu_us: int
    used_gpu_us: int
    lent_gpu_us: int
    borrowed_gpu_us: int


class ShareTruth:
    """GPU time that tenants' jobs held, by hour."""

    def __init__(self) -> None:
        self._used: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, tenant: str, gpus: int, start_us: int, end_us: int) -> None:
        """A job held GPUs for a while."""
        for hour, us in hours(start_us, end_us):
            self._used[hour][tenant] += us * gpus

    def rows(self, guaranteed_gpus: Mapping[str, int], until_us: int) -> Iterator[ShareRow]:
        """Every hour from the first in which anything was held, and every tenant."""
        first = min(self._used, default=until_us)
        for hour in range(first, until_us, HOUR_US):
            length_us = min(hour + HOUR_US, until_us) - hour
            used = {tenant: self._used[hour][tenant] for tenant in guaranteed_gpus}
            promised = {tenant: gpus * length_us for tenant, gpus in guaranteed_gpus.items()}
            lent = _lent(used, promised)
            for tenant, amount in sorted(used.items()):
                borrowed = max(amount - promised[tenant], 0)
                yield ShareRow(hour, tenant, promised[tenant], amount, lent[tenant], borrowed)


def _lent(used: Mapping[str, int], promised: Mapping[str, int]) -> dict[str, int]:
    """What is borrowed comes first from what others leave, in proportion to that.

    Whole microseconds, what is left of them to the largest remainders, and by name.
    """
    left = {tenant: max(promised[tenant] - used[tenant], 0) for tenant in used}
    over = sum(max(used[tenant] - promised[tenant], 0) for tenant in used)
    lendable = sum(left.values())
    ratio = Fraction(min(over, lendable), lendable or 1)
    exact = {tenant: amount * ratio for tenant, amount in left.items()}
    lent = {tenant: int(share) for tenant, share in exact.items()}
    spare = min(over, lendable) - sum(lent.values())
    for tenant in sorted(exact, key=lambda t: (lent[t] - exact[t], t))[:spare]:
        lent[tenant] += 1
    return lent
