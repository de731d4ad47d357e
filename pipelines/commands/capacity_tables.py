"""Capacity and fair share as tables: GPU-hours, shares and money that add up as printed."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from answers.capacity import spent
from metrics.capacity import Spent, cost, rounded
from metrics.conventions import HOUR_US
from metrics.policy import Price
from pipelines.show import console, moment, percent, print_table

SMALL = Fraction(1, 1000)
"""Of what is installed: rows below it are summed up in a table."""


def print_capacity(rows: list[dict[str, Any]], price: Price) -> None:
    """The ledger summed over its hours, a row a category and component; the named figures below."""
    out = console()
    if not rows:
        out.print("No state of a node is on record: what is installed is unknown.")
        return
    found = spent(rows)
    lines = _lines(found)
    parts = [gpu_us for *_, gpu_us in lines]
    cells = [
        [category, component, hours, _share(found, gpu_us), money]
        for (category, component, gpu_us), hours, money in zip(
            lines, _hours(parts), _money(parts, price), strict=True
        )
    ]
    (whole,), (money,) = _hours([found.installed]), _money([found.installed], price)
    cells.append(["installed", "", whole, _share(found, found.installed), money])
    last_us = rows[-1]["hour_us"] + HOUR_US
    title = f"Capacity, {moment(rows[0]['hour_us'])} to {moment(last_us)} UTC"
    heads = ("category", "component", ">GPU-hours", ">of installed", f">{price.currency}")
    print_table(title, heads, cells)
    _print_figures(found)


def _lines(found: Spent) -> list[tuple[str, str, int]]:
    """(category, component, GPU-µs), the largest first, those below SMALL in one line."""
    lines = sorted(((*key, gpu_us) for key, gpu_us in found.by_key.items()), key=lambda r: -r[2])
    shown = [line for line in lines if (found.share(line[2]) or 0) >= SMALL]
    small = lines[len(shown) :]
    if len(small) > 2:
        small = [(f"{len(small)} smaller", "", sum(gpu_us for *_, gpu_us in small))]
    return shown + small


def _print_figures(found: Spent) -> None:
    out = console()
    out.print(
        f"busy share {_useful(found)}: useful steps of what is installed;"
        f" allocated share {_share(found, found.allocated)}. Neither is an objective.",
    )
    on_purpose = f"{_share(found, found.deliberate)} on purpose (reserves, draining, maintenance)"
    if not found.is_use_known:
        out.print(
            f"no job that held GPUs told of a useful step: of the gap only {on_purpose} is known"
        )
        return
    gap = _share(found, found.installed - found.busy)
    out.print(
        f"the gap of {'at most ' if found.unrecorded else ''}{gap} is {on_purpose}"
        f" and {_share(found, found.rest)} the rest"
    )
    if found.unrecorded:
        hidden = _share(found, found.unrecorded)
        out.print(f"jobs that record no steps had {hidden} of what is installed")


def _useful(found: Spent) -> str:
    """The share of useful steps, as far as steps are recorded."""
    if not found.is_use_known:
        return "unknown"
    return ("at least " if found.unrecorded else "") + _share(found, found.busy)


def print_tenants(found: Mapping[str, Spent], price: Price) -> None:
    """What each tenant's jobs held and cost."""
    if not found:
        return
    parts = [held.installed for held in found.values()]
    cells = [
        [tenant, hours, _useful(held), money]
        for (tenant, held), hours, money in zip(
            found.items(), _hours(parts), _money(parts, price), strict=True
        )
    ]
    heads = ("tenant", ">GPU-hours held", ">useful", f">{price.currency}")
    print_table("Cost by tenant", heads, cells)


def print_shares(rows: list[dict[str, Any]], is_known: bool) -> None:
    """Fair share, a row a tenant; how what is borrowed was come by below."""
    names = ("guaranteed", "used", "lent", "unused", "borrowed")
    cells = [[row["tenant"], *(_amount(row[f"{name}_gpu_us"]) for name in names)] for row in rows]
    print_table("Fair share in GPU-hours", ("tenant", *(f">{name}" for name in names)), cells)
    out = console()
    if not is_known:
        out.print("The policy guarantees nothing to anybody (shares:): lent and borrowed unknown.")
        return
    lent = sum(row["lent_gpu_us"] for row in rows)
    borrowed = sum(row["borrowed_gpu_us"] for row in rows)
    out.print(
        f"borrowed {_amount(borrowed)}: {_amount(lent)} of what others left,"
        f" {_amount(borrowed - lent)} of what nobody is guaranteed",
    )


def _share(found: Spent, gpu_us: int) -> str:
    share = found.share(gpu_us)
    return percent(None if share is None else float(share))


def _hours(parts: list[int]) -> list[str]:
    return [f"{hours:,}" for hours in rounded([Fraction(part, HOUR_US) for part in parts])]


def _money(parts: list[int], price: Price) -> list[str]:
    return [f"{amount:,}" for amount in rounded([cost(part, price) for part in parts])]


def _amount(gpu_us: int | None) -> str:
    return "unknown" if gpu_us is None else f"{round(Fraction(gpu_us, HOUR_US)):,}"
