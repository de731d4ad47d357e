"""The command that pulls from Prometheus."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from answers.home import Home
from metrics.conventions import US_PER_S
from metrics.errors import UsageError
from pipelines import show
from pipelines.commands import tables
from pipelines.commands.options import FormatOption, HomeOption, RefreshOption, moment_us
from pipelines.show import Format

if TYPE_CHECKING:
    from pipelines.prometheus.pulling import Pulled

COLUMNS = (
    "query",
    "from_us",
    "until_us",
    "chunks",
    "points",
    "used",
    "records",
    "gaps",
    "gap_us",
    "counter_resets",
    "sentinels",
    "not_numbers",
    "dropped_labels",
)


def add_to(app: typer.Typer) -> None:
    """Give the command line this command."""
    app.command("pull-prometheus")(pull_prometheus)


def pull_prometheus(
    url: Annotated[
        str | None,
        typer.Option("--url", help="The server, like http://host:9090. Default: the policy's."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where a first pull begins (RFC 3339 with an offset). Default: as the policy says,"
            " a day ago. A later pull goes on from where the last one stopped.",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Where to stop. Default: now, but for a delay.")
    ] = None,
    refresh: RefreshOption = True,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Pull node states and samples of the cluster from Prometheus, each moment exactly once."""
    from pipelines.progress import Progress
    from pipelines.prometheus.pulling import address
    from pipelines.run import Pull, run

    from_us, until_us = moment_us(from_, "--from"), moment_us(until, "--until")
    if from_us is not None and until_us is not None and until_us <= from_us:
        raise UsageError(f"--until {until}: not later than --from {from_}")
    site = Home.open(home)
    address(site.policy().prometheus, url)
    with Progress() as progress:
        report = run(site, progress, pull=Pull(url, from_us, until_us), refresh=refresh)
    rows = summed(report.pulled)
    if how is Format.TABLE:
        _print(rows)
        tables.print_refreshed(report.refreshed)
    else:
        show.print_data(rows, COLUMNS, how)


def summed(pulled: "list[Pulled]") -> list[dict[str, Any]]:
    """What became of each query, over all its chunks, in the order of the pull."""
    rows: dict[str, dict[str, Any]] = {}
    for chunk in pulled:
        counts = asdict(chunk.counts)
        counts["gap_us"] = counts.pop("gap_s") * US_PER_S
        row = rows.setdefault(
            chunk.query,
            {"query": chunk.query, "from_us": chunk.grid.first_s * US_PER_S, "chunks": 0}
            | dict.fromkeys(counts, 0),
        )
        row["chunks"] += 1
        row["until_us"] = chunk.grid.until_s * US_PER_S
        for name, count in counts.items():
            row[name] += count
    return [{name: row[name] for name in COLUMNS} for row in rows.values()]


def _print(rows: list[dict[str, Any]]) -> None:
    if not rows:
        show.console().print("nothing to pull: all that is old enough was pulled before")
        return
    first, last = min(row["from_us"] for row in rows), max(row["until_us"] for row in rows)
    heads = (
        "~query",
        ">points",
        ">used",
        ">records",
        ">gaps",
        ">silent for",
        ">resets",
        ">sentinels",
        ">NaN",
        ">dropped labels",
    )
    cells = [
        [
            row["query"],
            *(f"{row[name]:,}" for name in ("points", "used", "records", "gaps")),
            show.duration(row["gap_us"]),
            *(
                f"{row[name]:,}"
                for name in ("counter_resets", "sentinels", "not_numbers", "dropped_labels")
            ),
        ]
        for row in rows
    ]
    title = f"Pulled from {show.moment(first)} to {show.moment(last)} UTC"
    show.print_table(title, heads, cells)
