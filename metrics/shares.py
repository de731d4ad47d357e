"""Fair share: what each tenant was guaranteed, used, lent and borrowed, hour by hour.

A tenant borrows what it uses beyond its guarantee. What it leaves unused of its guarantee is lent
as far as others borrow in that time; where several could lend, in proportion to what they leave,
whole microseconds by the largest remainder. So what is lent is never more than what is borrowed;
the rest of what is borrowed are GPUs that nobody is guaranteed.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One tenant's hour in GPU-µs: used = guaranteed − lent − unused + borrowed."""

    guaranteed: int
    used: int
    lent: int

    @property
    def borrowed(self) -> int:
        """What it used beyond its guarantee."""
        return max(self.used - self.guaranteed, 0)

    @property
    def unused(self) -> int:
        """What it neither used of its guarantee nor lent."""
        return max(self.guaranteed - self.used, 0) - self.lent


def shared(used: Mapping[str, int], guaranteed: Mapping[str, int]) -> dict[str, Share]:
    """The tenants' shares of one span of time, from GPU-µs used and guaranteed in it."""
    tenants = sorted(used.keys() | guaranteed.keys())
    left = {t: max(guaranteed.get(t, 0) - used.get(t, 0), 0) for t in tenants}
    borrowed = sum(max(used.get(t, 0) - guaranteed.get(t, 0), 0) for t in tenants)
    lent = _lent(left, min(borrowed, sum(left.values())))
    return {t: Share(guaranteed.get(t, 0), used.get(t, 0), lent[t]) for t in tenants}


def _lent(left: Mapping[str, int], amount: int) -> dict[str, int]:
    """An amount shared out among lenders in proportion to what each leaves."""
    whole = sum(left.values())
    if not whole:
        return dict.fromkeys(left, 0)
    given = {tenant: amount * gpu_us // whole for tenant, gpu_us in left.items()}
    by_rest = sorted(left, key=lambda tenant: (-(amount * left[tenant] % whole), tenant))
    for tenant in by_rest[: amount - sum(given.values())]:
        given[tenant] += 1
    return given
