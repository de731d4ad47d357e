"""The commands about the cluster's side: why jobs wait, and which contracts were kept."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from answers import waits
from answers.facts import Facts
from answers.home import Home
from answers.mart import open_mart
from metrics.adjustments import Adjustments
from pipelines import show
from pipelines.commands import tables
from pipelines.commands.options import FormatOption, HomeOption, JobOption
from pipelines.show import Format, duration

LISTED = 20
"""So many broken contracts are listed in a table; data formats have all."""


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    for command in (why, contracts):
        app.command()(command)


@contextmanager
def _facts(site: Home) -> Iterator[Facts]:
    """The facts under the policy; no wait and no contract depends on adjustments."""
    with open_mart(site) as mart:
        yield Facts(mart, site.policy(), Adjustments())


def why(
    job: Annotated[
        str | None, typer.Argument(help="The job's id. Default: all that wait now.")
    ] = None,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Why a job waits or waited: reasons that sum to its wait, and what it may expect."""
    with _facts(Home.at(home)) as facts:
        if job is None:
            _print_all(waits.all_waiting(facts), how)
        else:
            _print_why(waits.why(facts, job), how)
        if how is Format.TABLE:
            tables.print_as_of(facts.mart.meta())


_WHY = ("job", "reason", "us")


def _print_why(answer: dict[str, Any], how: Format) -> None:
    if how is Format.TABLE:
        _print_story(answer)
    else:
        rows = [{"job": answer["job"]} | row for row in answer["reasons"]]
        show.print_data(rows, _WHY, how, answer)


def _print_story(answer: dict[str, Any]) -> None:
    out = show.console()
    verb = "has waited" if answer["waiting"] else "waited"
    said = "its wait is unknown: no submission is on record"
    if answer["wait_us"] is not None:
        said = f"{verb} {duration(answer['wait_us'])}, {duration(answer['explained_us'])} explained"
    out.print(f"Job {answer['job']}: {said}", style="bold")
    if answer["now"]:
        out.print(f"  now: {answer['now']}")
    if answer["present"]:
        out.print(f"  {outlook(answer['present'])}")
    cells = [
        [row["reason"], duration(row["us"]), share(row["us"], answer["wait_us"])]
        for row in answer["reasons"]
    ]
    show.print_table("What it waited for", ("reason", ">time", ">of the wait"), cells)


def share(part_us: int, whole_us: int | None) -> str:
    """A part of a wait in percent."""
    return show.percent(part_us / whole_us if whole_us else None)


def outlook(present: dict[str, Any]) -> str:
    """Its place in its tier, and what comparable jobs that had waited as long went through."""
    place = "not in the line: it does not ask for GPUs yet"
    if present["position"] is not None:
        place = f"number {present['position']} of {present['of']} in {present['tier']} by age"
    expected = present["expectation"]
    like = f"{present['size']} {present['tier']} jobs that had waited as long"
    if expected["p50_us"] is None:
        return f"{place}; to expect: unknown, with {expected['comparable']} {like}"
    half = duration(expected["p50_us"] - present["waited_us"])
    late = "not reached"
    if expected["p90_us"] is not None:
        late = duration(expected["p90_us"] - present["waited_us"]) + " more"
    return f"{place}; to expect, by {expected['comparable']} {like}: p50 {half} more, p90 {late}"


_WAITING = ("job", "tier", "size", "gpus", "gathered_gpus", "since_us", "waited_us", "now")


def _print_all(answer: dict[str, Any], how: Format) -> None:
    if how is not Format.TABLE:
        show.print_data(answer["waiting"], _WAITING, how, answer)
        return
    known = [
        [
            row["tier"] or "all",
            duration(row["wait_us"]),
            duration(row["explained_us"]),
            show.percent(row["share"]),
        ]
        for row in answer["explained"]
    ]
    heads = ("tier", ">waited in all", ">explained", ">share")
    show.print_table("Waiting time of 30 days", heads, known)
    cells = [
        [row["job"], row["tier"], show.text(row["gpus"]), duration(row["waited_us"]), row["now"]]
        for row in answer["waiting"]
    ]
    title = f"Waiting now, the oldest first: {len(cells) or 'nobody'}"
    show.print_table(title, ("job", "tier", ">GPUs", ">for", "~why"), cells)


_CONTRACTS = ("contract", "job", "at_us", "kept", "detail")


def contracts(
    job: JobOption = None,
    broken: Annotated[bool, typer.Option("--broken", help="Only those broken.")] = False,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """The platform's contracts with its jobs: each kept, broken, or unknown, and by whom."""
    with _facts(Home.at(home)) as facts:
        rows = waits.contracts(facts, job)
        if how is Format.TABLE:
            _print_contracts(rows)
            tables.print_as_of(facts.mart.meta())
        else:
            chosen = [row for row in rows if row["kept"] is False] if broken else rows
            show.print_data(chosen, _CONTRACTS, how)


def _print_contracts(rows: list[dict[str, Any]]) -> None:
    cells = [
        [row["promise"], *(str(row[word]) for word in ("kept", "broken", "unknown"))]
        for row in waits.summed(Counter((row["contract"], row["kept"]) for row in rows))
    ]
    show.print_table("Contracts", ("~contract", ">kept", ">broken", ">unknown"), cells)
    found = [row for row in rows if row["kept"] is False]
    listed = [
        [row["contract"], row["job"], show.moment(row["at_us"]), row["detail"]]
        for row in reversed(found[-LISTED:])
    ]
    more = f", the newest {LISTED}" if len(found) > LISTED else ""
    show.print_table(
        f"Broken: {len(found) or 'none'}{more}", ("contract", "job", "at (UTC)", "~how"), listed
    )
