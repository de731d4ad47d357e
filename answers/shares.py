"""Fair share over time: what each tenant's jobs held of GPUs, against what it is guaranteed."""

from typing import Any

from answers.capacity import Span
from answers.mart import Mart
from metrics.conventions import HOUR_US
from metrics.policy import Policy
from metrics.shares import shared

AMOUNTS = ("guaranteed", "used", "lent", "unused", "borrowed")


def rows(mart: Mart, policy: Policy, over: Span) -> list[dict[str, Any]]:
    """`{hour_us, tenant, guaranteed_gpu_us, used_gpu_us, lent_gpu_us, …}` by hour and tenant.

    A policy without shares guarantees nothing to anybody: all but what is used is None then.
    """
    as_of_us = mart.meta().as_of_us or 0
    used = _used(mart, over)
    guaranteed = policy.shares
    found = []
    for hour_us in range(min(used), max(used) + HOUR_US, HOUR_US) if used else ():
        length_us = min(hour_us + HOUR_US, as_of_us) - hour_us
        promised = {tenant: gpus * length_us for tenant, gpus in guaranteed.items()}
        for tenant, share in shared(used.get(hour_us, {}), promised).items():
            amounts = {
                f"{name}_gpu_us": getattr(share, name) if guaranteed or name == "used" else None
                for name in AMOUNTS
            }
            found.append({"hour_us": hour_us, "tenant": tenant} | amounts)
    return found


def summed(ledger: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same by tenant over all hours, who used the most first."""
    sums: dict[str, dict[str, Any]] = {}
    for row in ledger:
        kept = sums.setdefault(row["tenant"], {"tenant": row["tenant"]})
        for name in AMOUNTS:
            key = f"{name}_gpu_us"
            kept[key] = None if row[key] is None else kept.get(key, 0) + row[key]
    return sorted(sums.values(), key=lambda row: (-row["used_gpu_us"], row["tenant"]))


def _used(mart: Mart, over: Span) -> dict[int, dict[str, int]]:
    """GPU-µs that jobs held, by hour and tenant.

    Of a job of which no allocation is recorded: its ledger but what was requeued.
    """
    found: dict[int, dict[str, int]] = {}
    for row in mart.rows(_USED, {"hour": HOUR_US, "from_us": over[0], "to_us": over[1]}):
        found.setdefault(row["hour_us"], {})[row["tenant"]] = row["gpu_us"]
    return found


_USED = """
with touched as (
  select *, unnest(range(start_us // $hour, (end_us - 1) // $hour + 1)) * $hour as hour_us
  from holds
),
held as (
  select job, hour_us, least(end_us, hour_us + $hour) - greatest(start_us, hour_us) as us
  from touched
  union all
  select job, hour_us, us from ledger anti join holds using (job) where component <> 'requeue'
)
select h.hour_us, coalesce(j.tenant, 'unknown') as tenant,
  sum(h.us::hugeint * coalesce(j.gpus, 1))::hugeint as gpu_us
from held h join jobs j using (job)
where h.hour_us >= $from_us and h.hour_us < $to_us
group by all order by all
"""
