"""The commands on what GPUs are installed: what they did and cost, and who was to have them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from answers import capacity as ledger
from answers import shares as fair
from answers.home import Home
from answers.mart import Mart, open_mart
from metrics.scope import Scope
from pipelines import show
from pipelines.commands import capacity_tables, tables
from pipelines.commands.options import FormatOption, HomeOption, moment_us
from pipelines.show import Format

DAY_H = 24

DaysOption = Annotated[
    int | None,
    typer.Option("--days", min=1, help="Only so many days before --as-of. Default: all."),
]
HoursOption = Annotated[
    int | None,
    typer.Option("--hours", min=1, help="Only so many hours before --as-of. Default: all."),
]
AsOfOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="The moment before which hours are read (RFC 3339 with an offset)."
        " Default: where the data end.",
    ),
]
ClusterOption = Annotated[str, typer.Option("--scope", help="fleet or cluster=NAME.")]

_CAPACITY = ("hour_us", "category", "component", "gpu_us")
_SHARES = ("hour_us", "tenant", *(f"{name}_gpu_us" for name in fair.AMOUNTS))


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command()(capacity)
    app.command()(shares)


def capacity(
    scope: ClusterOption = "fleet",
    hours: HoursOption = None,
    days: DaysOption = None,
    as_of: AsOfOption = None,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """What every installed GPU did, hour by hour, and what it cost: useful, lost, kept, idle."""
    with _asked(home, as_of, hours, days) as (site, mart, over):
        cluster = ledger.cluster_of(mart, Scope.parse(scope))
        rows = ledger.rows(mart, over, cluster)
        if how is not Format.TABLE:
            show.print_data(rows, _CAPACITY, how)
            return
        price = site.policy().price
        capacity_tables.print_capacity(rows, price)
        capacity_tables.print_tenants(ledger.tenants(mart, over, cluster), price)
        tables.print_as_of(mart.meta())


def shares(
    hours: HoursOption = None,
    days: DaysOption = None,
    as_of: AsOfOption = None,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Fair share by tenant: GPU-hours guaranteed by the policy, used, lent and borrowed."""
    with _asked(home, as_of, hours, days) as (site, mart, over):
        rows = fair.rows(mart, site.policy(), over)
        if how is not Format.TABLE:
            show.print_data(rows, _SHARES, how)
            return
        capacity_tables.print_shares(fair.summed(rows), bool(site.policy().shares))
        tables.print_as_of(mart.meta())


@contextmanager
def _asked(
    home: Path | None, as_of: str | None, hours: int | None, days: int | None
) -> Iterator[tuple[Home, Mart, ledger.Span]]:
    """The site, its mart, and the hours that the options ask for together."""
    site = Home.at(home)
    length_h = None if hours is None and days is None else (hours or 0) + (days or 0) * DAY_H
    with open_mart(site) as mart:
        yield site, mart, ledger.span(mart, moment_us(as_of), length_h)
