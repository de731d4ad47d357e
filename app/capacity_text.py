"""Capacity in words and rows, for its page and for the weekly review."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from app import format
from app.palette import BY_ID, COMPONENT_LABELS, GROUP_LABELS, STATE_LABELS, label
from metrics.capacity import DELIBERATE, GROUPS, NODE, Spent, cost, rounded
from metrics.policy import Price

Rows = list[dict[str, str]]


def useful(spent: Spent) -> str:
    """The share of useful steps, as far as steps are recorded."""
    if not spent.is_use_known:
        return format.UNKNOWN
    return ("at least " if spent.unrecorded else "") + format.percent(spent.share(spent.busy))


def title(spent: Spent) -> str:
    """How much is useful, as the head of a page."""
    if not spent.is_use_known:
        return "How much of installed GPU time is useful is unknown"
    return f"{format.capital(useful(spent))} of installed GPU time is useful"


def sentence(spent: Spent, price: Price) -> str:
    """The two named figures, and the gap as what is on purpose and the rest."""
    said = (
        f"Busy share **{useful(spent)}** (useful steps of what is installed), allocated share"
        f" **{format.percent(spent.share(spent.allocated))}**. "
    )
    on_purpose = f"**{format.percent(spent.share(spent.deliberate))}** on purpose"
    if not spent.is_use_known:
        return (
            f"{said}No job that held GPUs told of a useful step; {on_purpose} (reserves, draining,"
            " maintenance) is all that is known of the gap."
        )
    gap = format.percent(spent.share(spent.installed - spent.busy))
    lost = f", {format.money(cost(spent.rest, price), price)}" if price.per_gpu_hour else ""
    if spent.unrecorded:
        gap = f"at most {gap}"
        lost += f" ({format.percent(spent.share(spent.unrecorded))} with jobs that record no steps)"
    return (
        f"{said}The gap of {gap} is {on_purpose} (reserves, draining, maintenance) and"
        f" **{format.percent(spent.share(spent.rest))}** the rest{lost}."
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


def tenants(found: Mapping[str, Spent], price: Price) -> Rows:
    """What each tenant's jobs held and cost."""
    money = _money([held.installed for held in found.values()], price)
    return [
        {
            "Tenant": tenant,
            "GPU time held": format.gpu_hours(held.installed),
            "Useful": useful(held),
        }
        | ({"Cost": amount} if price.per_gpu_hour else {})
        for (tenant, held), amount in zip(found.items(), money, strict=True)
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
