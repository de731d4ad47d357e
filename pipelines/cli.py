"""The command line. Each answer is a table, or with --format json, csv or parquet data.

Exit codes: 0 fine, 1 failure, 2 usage or unreadable input. Whatever changes the warehouse runs
Dagster's job in this process; questions read the published mart only, and start fast.
"""

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from answers import questions
from answers.home import Home
from answers.mart import open_mart
from metrics.errors import HeadwayError, UsageError
from metrics.policy import load_policy
from pipelines import show
from pipelines.commands import (
    capacity,
    collecting,
    decisions,
    planning,
    proving,
    simulating,
    tables,
    waiting,
)
from pipelines.commands.options import (
    FormatOption,
    HomeOption,
    JobOption,
    RefreshOption,
    ScopeOption,
    moment_us,
)
from pipelines.listening import SITE, Listening
from pipelines.show import Format

if TYPE_CHECKING:
    from pipelines.defs.site import Report  # Dagster is slow to import

app = typer.Typer(
    name="headway",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def site(
    home: Annotated[Path | None, typer.Option("--home", help="As after the command.")] = None,
) -> None:
    """Where every training job's wall-clock went: goodput, restarts and queue waits, exactly."""
    if home is not None:
        os.environ["HEADWAY_HOME"] = str(home)


def main() -> None:
    """The console script: run a command, and turn what Headway reports into an exit code."""
    _stand_in_for_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # bars, on a terminal that knows no Unicode
    try:
        app()
    except HeadwayError as e:
        print(f"headway: {show.visible(str(e))}", file=sys.stderr)
        sys.exit(2 if isinstance(e, UsageError) else 1)
    except OSError as e:
        place = f"{e.filename}: " if e.filename else ""
        print(f"headway: {place}{e.strerror or e}", file=sys.stderr)
        sys.exit(1)


def _stand_in_for_closed_streams() -> None:
    """Give what the caller closed to nowhere: the next file opened would be that stream else."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files, or folders with all below them.")],
    source: Annotated[
        str, typer.Option(help="auto, canonical, slurm or mlperf. auto tells by content.")
    ] = "auto",
    timezone: Annotated[
        str, typer.Option(help="Zone of times without an offset (scheduler records).")
    ] = "UTC",
    columns: Annotated[
        str | None, typer.Option(help="Column names, comma-separated, of sacct output without any.")
    ] = None,
    refresh: RefreshOption = True,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Store event files, each record exactly once; then derive and publish."""
    from pipelines.progress import Progress
    from pipelines.run import Ingestion, run

    site = Home.open(home)
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    with Progress() as progress:
        report = run(
            site, progress, Ingestion(paths, source, _zone(timezone), names), refresh=refresh
        )
    _print_ingested(report, how)
    if not (report.summaries or report.failures):
        raise UsageError("no complete file that a source recognises in what was named")
    if report.failures:
        raise UsageError("; ".join(str(failure) for failure in report.failures))


def _print_ingested(report: "Report", how: Format) -> None:
    names = (*tables.SUMMARY, "known")
    rows = [
        {name: getattr(summary, name) for name in names} | {"path": str(summary.path)}
        for summary in report.summaries
    ]
    if how is Format.TABLE:
        tables.print_ingested(rows)
        tables.print_refreshed(report.refreshed)
    else:
        show.print_data(rows, names, how)
    tables.print_notes(report)


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as e:
        raise UsageError(f"--timezone {name}: no such zone; say it like Europe/Zurich") from e
    return name


@app.command()
def refresh(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Derive everything anew from the stored records.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(help="Read nothing later than this (RFC 3339 with an offset).")
    ] = None,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Derive what new records touch, and publish."""
    from pipelines.progress import Progress
    from pipelines.run import run

    as_of_us = moment_us(as_of)
    site = Home.open(home)
    with Progress() as progress:
        report = run(site, progress, as_of_us=as_of_us, rebuild=rebuild)
    answer = {name: getattr(report.refreshed, name) for name in _REFRESHED}
    if how is Format.TABLE:
        tables.print_refreshed(report.refreshed, as_of_given=as_of_us is not None)
    else:
        show.print_data([answer], _REFRESHED, how, answer)


_REFRESHED = ("as_of_us", "jobs", "groups", "hours", "folded_steps")


@app.command()
def job(
    job: Annotated[str, typer.Argument(help="The job's id.")],
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """One job: its goodput, and where the rest of its wall-clock went."""
    with open_mart(Home.at(home)) as mart:
        answer = questions.job(mart, job)
        if how is Format.TABLE:
            tables.print_job(answer)
            tables.print_as_of(mart.meta())
        else:
            facts = {name: value for name, value in answer.items() if name != "loss"}
            rows = [facts | row for row in answer["loss"] or [{}]]
            show.print_data(rows, (*facts, *_LOSS), how, answer)


_LOSS = ("category", "component", "cause", "us")
_LEDGER = ("job", "hour_us", *_LOSS)


@app.command()
def ledger(
    job: JobOption = None, home: HomeOption = None, how: FormatOption = Format.TABLE
) -> None:
    """The ledger: every job's wall-clock by hour, category, component and cause."""
    with open_mart(Home.at(home)) as mart:
        rows = questions.ledger(mart, job)
        if how is Format.TABLE:
            tables.print_ledger(rows)
            tables.print_as_of(mart.meta())
        else:
            show.print_data(rows, _LEDGER, how)


_RESTARTS = (
    "job",
    "detected_us",
    "recovered_us",
    "cause",
    "outcome",
    "basis",
    "attempts_used",
    "interruptions",
    "lost_steps",
    "time_to_restart_us",
    *(f"{part}_us" for part in questions.RESTART_COMPONENTS),
)


@app.command()
def restarts(
    job: JobOption = None, home: HomeOption = None, how: FormatOption = Format.TABLE
) -> None:
    """Restarts: from an interruption to the next first step, by component."""
    site = Home.at(home)
    with open_mart(site) as mart:
        rows = questions.restarts(mart, job)
        if how is Format.TABLE:
            tables.print_restarts(rows, questions.restart_times(mart, site.policy(), job))
            tables.print_as_of(mart.meta())
        else:
            show.print_data(rows, _RESTARTS, how)


_QUEUE = (
    "tier",
    "jobs",
    "censored",
    *questions.QUANTILES,
    "max_us",
    "target_us",
    "within_target",
)


@app.command()
def queue(home: HomeOption = None, how: FormatOption = Format.TABLE) -> None:
    """Queue waits by tier: from submission to the first completed step."""
    site = Home.at(home)
    with open_mart(site) as mart:
        policy = site.policy()
        answer = questions.queue(mart, policy)
        if how is Format.TABLE:
            tables.print_queue(answer, policy)
            tables.print_as_of(mart.meta())
        else:
            rows = [{"tier": tier} | found for tier, found in answer.items()]
            show.print_data(rows, _QUEUE, how, answer)


_FINDINGS = ("as_of_us", "coverage", "finding", "job", "attempt", "count", "detail")


@app.command()
def quality(home: HomeOption = None, how: FormatOption = Format.TABLE) -> None:
    """How far the numbers can be trusted: coverage, quarantine, odd records."""
    with open_mart(Home.at(home)) as mart:
        answer = questions.quality(mart)
        if how is Format.TABLE:
            tables.print_quality(answer)
            tables.print_as_of(mart.meta())
        else:
            show.print_data(questions.quality_rows(answer), _FINDINGS, how, answer)


@app.command()
def validate(
    file: Annotated[
        Path | None, typer.Argument(help="Objectives and policy. Default: those in force.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """Check a file of objectives and policy: every fault with its line, path and a hint."""
    chosen = file or Home.at(home).policy_in_force
    policy = load_policy(chosen)
    print(
        f"{chosen.name}: no fault; objectives: {', '.join(policy.objective_names)};"
        f" tiers: {', '.join(tier.name for tier in policy.tiers)}"
    )


@app.command()
def up(
    host: Annotated[str, typer.Option(help="Where to listen; others reach no loopback.")] = (
        SITE.host
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Dagster's page.")] = SITE.dagster,
    app_port: Annotated[int, typer.Option(min=1, max=65535, help="The pages.")] = SITE.pages,
    gate_port: Annotated[int, typer.Option(min=1, max=65535, help="The gate.")] = SITE.gate,
    home: HomeOption = None,
) -> None:
    """Run what a site needs: the pages, the gate, refreshes each hour and as files arrive."""
    from pipelines.up import up

    up(Home.open(home), Listening(host, port, app_port, gate_port), _say)


decisions.add_to(app)
planning.add_to(app)
proving.add_to(app)
capacity.add_to(app)
waiting.add_to(app)
collecting.add_to(app)


@app.command("app")
def pages(
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")
    ] = SITE.pages,
    home: HomeOption = None,
) -> None:
    """Show the pages in a browser, from this machine only; HEADWAY_TOKEN lets them write."""
    from pipelines.served import run_pages

    run_pages(Home.at(home), port)


@app.command()
def review(
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")],
    week: Annotated[
        str | None, typer.Option("--week", help="Like 2026-W44. Default: the last whole week.")
    ] = None,
    scope: ScopeOption = "fleet",
    home: HomeOption = None,
) -> None:
    """Write a week's review as one HTML file and as Markdown, with its charts as SVG."""
    from pipelines.served import write_review

    for path in write_review(Home.at(home), week, scope, out):
        print(path)


@app.command()
def demo(
    until: Annotated[
        str | None,
        typer.Option(help="When the simulated 35 days end (RFC 3339). Default: the present hour."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Simulate a cluster's last 35 days, ingest them and a real sample, and show the answers."""
    from pipelines.demo import run_demo

    site = Home.open(home)
    run_demo(site, moment_us(until, "--until"))
    command = f"{sys.argv[0]} up --home {site.root}"  # it may be on no PATH
    if sys.stdout.isatty():
        from pipelines.up import up

        up(site, SITE, _say)
    else:
        print(f"see it in a browser, and ask the gate: {command}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


simulating.add_to(app)


if __name__ == "__main__":
    main()
