"""The commands on which people and rollout pipelines decide: budgets, the gate, the journal."""

import difflib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Annotated, Any

import typer

from answers import budgets, freezes, gate, moments
from answers import preview as previews
from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import Mart, open_mart
from answers.moments import rfc3339
from answers.rules import rules as prometheus_rules
from metrics.conventions import CAUSES, HOUR_US, US_PER_S
from metrics.documents import closest
from metrics.errors import HeadwayError, UsageError
from metrics.policy import Policy
from metrics.rulings import SAID_ONCE, Kind, Ruling, Rulings
from metrics.scope import Scope
from pipelines import show
from pipelines.commands import decision_tables
from pipelines.commands.options import (
    AsOfOption,
    FormatOption,
    HomeOption,
    ScopeOption,
    TableOrJsonOption,
    WhoOption,
    WhyOption,
    moment_us,
)
from pipelines.show import Format

ChangeOption = Annotated[
    str, typer.Option("--change", help="The type of change, one of the policy's (changes:).")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", help="When it ends by itself (RFC 3339 with an offset).")
]

freeze_app = typer.Typer(invoke_without_command=True, add_completion=False)


HostOption = Annotated[str, typer.Option("--host", help="The address to listen on.")]


def serve(
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")
    ] = 8632,
    host: HostOption = "127.0.0.1",
    home: HomeOption = None,
) -> None:
    """Answer the gate over HTTP: /v1/gate, /v1/budgets, /v1/jobs, /metrics; /docs has the rest."""
    import uvicorn

    os.environ["HEADWAY_HOME"] = str(Home.at(home).root)
    # By name: this package and app import each other nowhere.
    try:
        uvicorn.run("app.gate:create", factory=True, host=host, port=port, log_level="warning")
    except SystemExit as e:  # it told why; its own code for that, 3, means unknown of a gate
        raise typer.Exit(1 if e.code else 0) from e


def rules(home: HomeOption = None) -> None:
    """Prometheus alerting and recording rules over the metrics of `headway serve`, as YAML."""
    print(prometheus_rules(Home.at(home).policy()), end="")


def preview(
    change: ChangeOption,
    nodes: Annotated[str, typer.Option("--nodes", help="The nodes, comma-separated.")],
    minutes: Annotated[int, typer.Option("--minutes", min=1, help="How long they are away.")],
    at: Annotated[
        str | None, typer.Option("--at", help="When (RFC 3339 with an offset). Default: now.")
    ] = None,
    home: HomeOption = None,
    how: TableOrJsonOption = Format.TABLE,
) -> None:
    """What a change of some nodes would cost: jobs, budgets, whether it freezes, cheaper hours."""
    site = Home.at(home)
    gate.check_change(site.policy(), change)
    given = moment_us(at, "--at")
    at_us = now_us() if given is None else given
    names = [name.strip() for name in nodes.split(",") if name.strip()]
    with _facts(site) as (facts, _):
        answer = previews.preview(facts, change, names, minutes * 60 * US_PER_S, at_us)
    if how is Format.JSON:
        show.print_json(answer)
    elif how is Format.TABLE:
        decision_tables.print_preview(answer)
    else:
        raise UsageError(f"--format {how.value}: a preview is printed as table or json")


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    for command in (
        budget,
        gate_,
        override,
        thaw,
        exclude,
        reattribute,
        journal,
        serve,
        rules,
        preview,
    ):
        app.command(command.__name__.rstrip("_"))(command)
    app.add_typer(freeze_app, name="freeze")


@contextmanager
def _facts(site: Home) -> Iterator[tuple[Facts, Rulings]]:
    """The facts under the policy and the adjustments in force, and all that people decided."""
    rulings = Rulings(Journal(site).entries(), site.policy())
    with open_mart(site) as mart:
        yield Facts(mart, rulings.policy, rulings.adjustments(now_us())), rulings


def budget(
    slo: Annotated[str | None, typer.Option("--slo", help="Only this objective.")] = None,
    scope: ScopeOption = "fleet",
    as_of: AsOfOption = None,
    detail: Annotated[
        bool,
        typer.Option(
            "--detail", help="Also history, spending, the window before, alerts, forecasts (JSON)."
        ),
    ] = False,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Error budgets over 30 days: what was allowed, what is spent, when it is gone or back."""
    asked = Scope.parse(scope)
    with _facts(Home.at(home)) as (facts, _):
        found = budgets.reports(facts, asked, _moment(as_of), slo)
        if how is Format.TABLE:
            decision_tables.print_budgets(asked, found)
            return
        rows = [report.as_json() for report in found]
        if detail:
            rows = [row | report.detail() for row, report in zip(rows, found, strict=True)]
        show.print_data([_flat(row) for row in rows], _BUDGET, how, rows)


_BUDGET = (
    "slo",
    "scope",
    "unit",
    "state",
    "total",
    "bad",
    "allowed",
    "remaining",
    "remaining_ratio",
    "burn_1h",
    "burn_6h",
    "burn_1d",
    "burn_3d",
    "burn_30d",
    "exhausted_at",
    "thaw_at",
    "as_of",
    "data_through",
    "coverage",
)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    return row | {f"burn_{span}": rate for span, rate in row["burn"].items()}


def gate_(
    change: ChangeOption,
    scope: ScopeOption = "fleet",
    as_of: AsOfOption = None,
    home: HomeOption = None,
    how: TableOrJsonOption = Format.TABLE,
) -> None:
    """May a change start now? Exit code 0 allow, 1 deny, 2 a wrong question, 3 unknown."""
    site = Home.at(home)
    if how not in (Format.TABLE, Format.JSON):
        raise UsageError(f"--format {how.value}: a decision is printed as table or json")
    question = gate.Question(change, Scope.parse(scope), _moment(as_of))
    answer = _decision(site, question)
    if as_of is None:
        gate.note_refusal(Journal(site), question, answer)
    _print_answer(answer, how)
    raise typer.Exit(gate.EXIT_CODES[answer["decision"]])


def _print_answer(answer: dict[str, Any], how: Format) -> None:
    """Print a decision. Who reads no further (`| head -1`) still reads the exit code."""
    try:
        show.print_json(answer) if how is Format.JSON else decision_tables.print_gate(answer)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the latter is how rich says it
        # What is still to be written would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _decision(site: Home, question: gate.Question) -> dict[str, Any]:
    try:
        with _facts(site) as (facts, rulings):
            return gate.decide(facts, rulings, question)
    except (HeadwayError, OSError) as e:
        # Whoever asks must not read "denied" (exit code 1) where nothing could be read.
        return gate.unreadable(site, question, e)


@freeze_app.callback()
def freeze(
    context: typer.Context,
    scope: ScopeOption = "fleet",
    who: Annotated[str, typer.Option("--who", help="Who decides this.")] = "",
    why: Annotated[str, typer.Option("--why", help="Why, for those who read it later.")] = "",
    until: UntilOption = None,
    home: HomeOption = None,
) -> None:
    """Hold rollouts by hand from now on; `freeze history` shows what was decided when."""
    if context.invoked_subcommand is None:
        until_us = _later(until)
        _write(Home.open(home), Kind.FREEZE, who, why, scope, {"until_us": until_us})


@freeze_app.command("history")
def history(
    scope: ScopeOption = "fleet",
    as_of: AsOfOption = None,
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """Every change of state: what was known then, beside what is known now."""
    site = Home.at(home)
    with _facts(site) as (facts, _):
        asked = Scope.parse(scope)
        budgets.check_scope(facts, asked)
        answer = freezes.history(facts, Journal(site), asked, _moment(as_of))
    if how is Format.TABLE:
        decision_tables.print_history(answer)
    else:
        rows = [{"known": "then"} | row for row in answer["recorded"]]
        rows += [{"known": "now"} | row for row in answer["now"]]
        columns = ("known", "hour", "state", "why", "decided_at", "data_through")
        show.print_data(rows, columns, how, answer)


def thaw(
    who: WhoOption,
    why: WhyOption,
    scope: ScopeOption = "fleet",
    until: UntilOption = None,
    home: HomeOption = None,
) -> None:
    """Lift a freeze by hand; with --until, open the scope until then whatever its budgets say."""
    site = Home.open(home)
    until_us = moment_us(until, "--until")
    if until_us is not None:
        gate.check_until(site.policy(), until_us, now_us())
    rulings, at_us = Rulings(Journal(site).entries(), site.policy()), now_us()
    before = rulings.frozen_by_hand(Scope.parse(scope), at_us)
    _write(site, Kind.THAW, who, why, scope, {"until_us": until_us})
    _print_thawed(site, Scope.parse(scope), before, is_held_open=until_us is not None)


def _print_thawed(site: Home, scope: Scope, before: Ruling | None, is_held_open: bool) -> None:
    """Say what a thaw does not do: whoever asked for it may think that rollouts go on now."""
    rulings = Rulings(Journal(site).entries(), site.policy())
    stays = rulings.frozen_by_hand(scope, now_us())
    if stays:
        print(
            f"{scope} stays frozen by hand, by entry {stays.id} of {stays.scope}:"
            f" headway thaw --scope {stays.scope} lifts that"
        )
    elif before is None and not is_held_open:
        print(
            f"no freeze by hand held {scope}: what its budgets say stands;"
            " with --until it is held open whatever they say"
        )


def override(
    change: ChangeOption,
    until: Annotated[str, typer.Option("--until", help="When it ends (RFC 3339 with an offset).")],
    who: WhoOption,
    why: WhyOption,
    scope: ScopeOption = "fleet",
    home: HomeOption = None,
) -> None:
    """Let one type of change pass a freeze until a moment; it ends by itself."""
    site = Home.open(home)
    gate.check_change(site.policy(), change)
    until_us = moments.moment_us(until, "--until")
    gate.check_until(site.policy(), until_us, now_us())
    _write(site, Kind.OVERRIDE, who, why, scope, {"change": change, "until_us": until_us})


def exclude(
    from_: Annotated[str, typer.Option("--from", help="The first hour (RFC 3339, on the hour).")],
    until: Annotated[str, typer.Option("--until", help="Its end (RFC 3339, on the hour).")],
    who: WhoOption,
    why: WhyOption,
    scope: ScopeOption = "fleet",
    home: HomeOption = None,
) -> None:
    """Take whole hours of a scope out of every budget (a facility outage)."""
    from_us, until_us = moment_us(from_, "--from"), moment_us(until, "--until")
    if from_us is None or until_us is None or until_us <= from_us:
        raise UsageError(f"--until {until}: is not after --from {from_}")
    for option, us in (("--from", from_us), ("--until", until_us)):
        if us % HOUR_US:
            floor = us // HOUR_US * HOUR_US
            raise UsageError(
                f"{option}: the ledger is kept by the hour; say {rfc3339(floor)}"
                f" or {rfc3339(floor + HOUR_US)}"
            )
    body = {"from_us": from_us, "until_us": until_us}
    _write(Home.open(home), Kind.EXCLUDE, who, why, scope, body)


def reattribute(
    job: Annotated[str, typer.Option("--job", help="The job that was interrupted.")],
    detected: Annotated[
        str, typer.Option("--detected", help="When, to the second, as `headway restarts` has it.")
    ],
    cause: Annotated[
        str, typer.Option("--cause", help=f"What really caused it: {', '.join(CAUSES)}.")
    ],
    who: WhoOption,
    why: WhyOption,
    home: HomeOption = None,
) -> None:
    """Give an interruption another cause (a failure of the job that was a dead link)."""
    site = Home.open(home)
    if cause not in CAUSES:
        raise UsageError(
            f"--cause {cause}: no such cause{closest(cause, CAUSES)}; one of {', '.join(CAUSES)}"
        )
    with open_mart(site) as mart:
        detected_us = _restart_at(mart, job, detected)
    body = {"job": job, "detected_us": detected_us, "cause": cause}
    _write(site, Kind.REATTRIBUTE, who, why, str(Scope(job=job)), body)


def _restart_at(mart: Mart, job: str, detected: str) -> int:
    second = (moment_us(detected, "--detected") or 0) // US_PER_S
    known = [
        row["detected_us"]
        for row in mart.rows("select detected_us from restarts where job = ? order by 1", [job])
    ]
    found = [us for us in known if us // US_PER_S == second]
    if len(found) == 1:
        return int(found[0])
    names = [rfc3339(us // US_PER_S * US_PER_S) or "" for us in known]
    near = ", ".join(difflib.get_close_matches(detected, names, n=3, cutoff=0.0)) or "none"
    raise UsageError(
        f"--detected {detected}: job {job} has {len(found)} restarts detected then; near it: {near}"
    )


def journal(
    approve: Annotated[
        int | None, typer.Option("--approve", help="Approve this entry, as a second person.")
    ] = None,
    revoke: Annotated[
        int | None, typer.Option("--revoke", help="Undo this entry from now on.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="Note something for others.")] = None,
    week: Annotated[
        str | None, typer.Option("--week", help="The week that a note is kept with: 2026-W44.")
    ] = None,
    scope: ScopeOption = "fleet",
    who: Annotated[str, typer.Option("--who", help="Who writes the entry.")] = "",
    why: Annotated[str, typer.Option("--why", help="Why, for those who read it later.")] = "",
    home: HomeOption = None,
    how: FormatOption = Format.TABLE,
) -> None:
    """All that people decided, and what Headway decided; or approve, revoke, note."""
    site = Home.at(home)
    asked = [option for option in (approve, revoke, note) if option is not None]
    if len(asked) > 1:
        raise UsageError("say one of --approve, --revoke and --note")
    if week is not None and note is None:
        raise UsageError("--week: only a note is kept with a week; say --note too")
    if note is not None:
        _write(site, Kind.NOTE, who, note, scope, {} if week is None else {"week": _week(week)})
    elif approve is not None or revoke is not None:
        _answer(site, Kind.REVOKE if approve is None else Kind.APPROVE, asked[0], who, why)
    else:
        _print_journal(site, how)


def _week(text: str) -> str:
    try:
        date.fromisoformat(f"{text}-1")
    except ValueError:
        raise UsageError(f"--week {text}: no week; say it like 2026-W44") from None
    return text


def _answer(site: Home, kind: Kind, of: Any, who: str, why: str) -> None:
    entries = {entry.id: entry for entry in Journal(site).entries()}
    entry = entries.get(of)
    if entry is None or entry.kind in SAID_ONCE:
        raise UsageError(f"--{kind.value} {of}: no such entry; `headway journal` lists them")
    if kind is Kind.APPROVE and entry.who.strip().casefold() == who.strip().casefold():
        raise UsageError(f"--approve {of}: {who} wrote it; a second person has to approve")
    policy = site.policy()
    written = Journal(site).append(kind, who, why or kind.value, entry.scope, of=of)
    _print_written(site, policy, written, entry)


_JOURNAL = ("id", "at", "kind", "scope", "who", "why", "status", "of", "body")


def _print_journal(site: Home, how: Format) -> None:
    rulings = Rulings(Journal(site).entries(), site.policy())
    at_us = now_us()
    rows = [
        {
            "id": entry.id,
            "at": rfc3339(entry.at_us),
            "kind": entry.kind.value,
            "scope": str(entry.scope),
            "who": entry.who,
            "why": entry.why,
            "status": rulings.status(entry, at_us),
            "of": entry.of,
            "body": dict(entry.body),
        }
        for entry in rulings.entries
    ]
    if how is Format.TABLE:
        decision_tables.print_journal(rows)
    else:
        show.print_data(rows, _JOURNAL[:-1] if how is not Format.JSON else _JOURNAL, how)


def _write(site: Home, kind: Kind, who: str, why: str, scope: str, body: dict[str, Any]) -> None:
    named, policy = Scope.parse(scope), site.policy()
    budgets.check_written(_facts(site), named)
    written = Journal(site).append(kind, who, why, named, body)
    _print_written(site, policy, written, written)


def _print_written(site: Home, policy: Policy, written: Ruling, about: Ruling) -> None:
    rulings = Rulings(Journal(site).entries(), policy)
    status = rulings.status(about, written.at_us)
    print(f"entry {written.id}: {written.kind.value} of {about.scope}; entry {about.id} {status}")
    if "approval" in status:
        print(f"a second person approves it: headway journal --approve {about.id} --who NAME")


def _moment(as_of: str | None) -> int:
    given_us = moment_us(as_of)
    return now_us() if given_us is None else given_us


def _later(until: str | None) -> int | None:
    until_us = moment_us(until, "--until")
    if until_us is not None and until_us <= now_us():
        raise UsageError(f"--until {until}: has passed; say a moment still to come")
    return until_us
