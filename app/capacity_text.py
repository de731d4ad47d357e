"""Capacity in words and rows, for its page and for the weekly review."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from app import format
from app.palette import BY_ID, COMPONENT_LABELS, GROUP_LABELS, STATE_LABELS, label
from metrics.capacity import DELIBERATE, GROUPS, NODE, Spent, cost, rounded
from metrics.policy import Price

Rows = list[dict[str, str]]


def sentence(spent: Spent, price: Price) -> str:
    """The two named figures, and the gap as what is on purpose and the rest."""
    if spent.busy_share is None:
        return (
            "Busy share **unknown** (no job told of a step), allocated share"
            f" **{format.percent(spent.share(spent.allocated))}**."
            f" **{format.percent(spent.share(spent.deliberate))}** is on purpose (reserves,"
            " draining, maintenance)."
        )
    gap = spent.installed - spent.busy
    lost = f", {format.money(cost(spent.rest, price), price)}" if price.per_gpu_hour else ""
    return (
        f"Busy share **{format.percent(spent.share(spent.busy))}** (useful steps of what is"
        f" installed), allocated share **{format.percent(spent.share(spent.allocated))}**. The gap"
        f" of {format.percent(spent.share(gap))} is"
        f" **{format.percent(spent.share(spent.deliberate))}** on purpose (reserves, draining,"
        f" maintenance) and **{format.percent(spent.share(spent.rest))}** the rest{lost}."
    )


def groups(spent: Spent, price: Price, before: Spent | None = None) -> Rows:
    """A row a group, in their order, then what is installed; the week before where it is given."""
    now, then = spent.by_group, before.by_group if before else {}
    names = [group for group in GROUPS if group in now or group in then]
    money = _money([now.get(group, 0) for group in names], price)
    lines = [(GROUP_LABELS[n], now.get(n, 0), then.get(n, 0)) for n in names]
    kinds = [_kind(group) for group in names] + [""]
    lines.append(("Installed", spent.installed, before.installed if before else 0))
    money += _money([spent.installed], price)
    return [
        {
            "What": said,
            "Gap": kind,
            "GPU time": format.gpu_hours(gpu_us),
            "Of installed": format.percent(spent.share(gpu_us)),
        }
        | ({"Week before": format.percent(before.share(old_us))} if before else {})
        | ({"Cost": amount} if price.per_gpu_hour else {})
        for (said, gpu_us, old_us), kind, amount in zip(lines, kinds, money, strict=True)
    ]


def _kind(group: str) -> str:
    if group == "useful":
        return "none: busy"
    return "on purpose" if group in DELIBERATE else "the rest"


def rows(spent: Spent, price: Price) -> Rows:
    """Every row of the ledger, the largest first."""
    keys = sorted(spent.by_key, key=lambda key: -spent.by_key[key])
    money = _money([spent.by_key[key] for key in keys], price)
    return [
        {
            "What": _what(category, component),
            "Part": COMPONENT_LABELS.get(component) or label("category", component),
            "GPU time": format.gpu_hours(spent.by_key[category, component]),
            "Of installed": format.percent(spent.share(spent.by_key[category, component])),
        }
        | ({"Cost": amount} if price.per_gpu_hour else {})
        for (category, component), amount in zip(keys, money, strict=True)
    ]


def _what(category: str, component: str) -> str:
    is_of_node = component == NODE or category not in BY_ID
    return STATE_LABELS[category] if is_of_node else BY_ID[category].label


def tenants(found: Sequence[dict[str, Any]], price: Price) -> Rows:
    """What each tenant's jobs held and cost."""
    money = _money([row["gpu_us"] for row in found], price)
    return [
        {
            "Tenant": row["tenant"],
            "GPU time held": format.gpu_hours(row["gpu_us"]),
            "Useful": format.UNKNOWN
            if row["useful_gpu_us"] is None
            else format.percent(Fraction(row["useful_gpu_us"], row["gpu_us"])),
        }
        | ({"Cost": amount} if price.per_gpu_hour else {})
        for row, amount in zip(found, money, strict=True)
    ]


def shares(found: Sequence[dict[str, Any]]) -> Rows:
    """Fair share by tenant, by day where the rows have one."""
    return [
        ({"Day": format.day(row["day_us"])} if "day_us" in row else {})
        | {
            "Tenant": row["tenant"],
            "Guaranteed": _amount(row["guaranteed_gpu_us"]),
            "Used": _amount(row["used_gpu_us"]),
            "Lent": _amount(row["lent_gpu_us"]),
            "Unused": _amount(row["unused_gpu_us"]),
            "Borrowed": _amount(row["borrowed_gpu_us"]),
        }
        for row in found
    ]


def _amount(gpu_us: int | None) -> str:
    return format.UNKNOWN if gpu_us is None else format.gpu_hours(gpu_us)


def _money(parts: Sequence[int], price: Price) -> list[str]:
    whole = rounded([cost(part, price) for part in parts])
    return [format.money(Fraction(amount), price) for amount in whole]
