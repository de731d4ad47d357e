"""Entries to the journal from a page, where the app was started with a token that names someone.

Each form shows the command that would do the same, so that nobody depends on the page.
"""

import os
import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st

from answers import gate
from answers.clock import now_us
from answers.journal import Journal
from answers.moments import moment_us, rfc3339
from app import address, store
from app.frame import View
from app.tokens import Holder, holder_of
from metrics.conventions import CAUSES, HOUR_US
from metrics.errors import HeadwayError, UsageError
from metrics.rulings import Kind, Ruling
from metrics.scope import Scope

TOKEN = "HEADWAY_TOKEN"
"""The environment variable that the app's own token is read from, at its start."""


def holder() -> Holder | None:
    """Whom the app's token names; None where the app is read-only."""
    token = os.environ.get(TOKEN)
    return holder_of(token, store.home().root / "tokens.json") if token else None


def read_only() -> None:
    """Say why nothing can be entered, and how it could."""
    st.caption(
        f"Read-only: the app was started without a token. Start it with `{TOKEN}` set to a token"
        " that tokens.json names, or use the command."
    )


def command(*parts: str, **options: str | None) -> str:
    """The command that does the same, as it can be pasted into a shell."""
    said = ["headway", *parts]
    for name, value in options.items():
        if value is not None:
            said += [f"--{name.rstrip('_')}", shlex.quote(value)]
    return " ".join(said)


def enter(
    kind: Kind, why: str, scope: Scope, body: Mapping[str, Any], of: int | None = None
) -> None:
    """Write an entry as the holder and say so; what is refused is said too."""
    who = holder()
    if who is None:
        st.error("The app is read-only.")
        return
    if kind is not Kind.NOTE and not who.may_override:
        st.error(f"Role {who.role} may write notes only.")
        return
    try:
        written = Journal(store.home()).append(
            kind, who.name, why, scope, dict(body) | {"role": who.role}, of
        )
    except HeadwayError as e:
        st.error(str(e))
        return
    st.toast(f"Entry {written.id}: {kind.value} of {scope}")
    st.rerun()


def note_form(seen: View, week: str) -> None:
    """Keep a note with a week."""
    if holder() is None:
        read_only()
    else:
        with st.form("note", clear_on_submit=True):
            text = st.text_area("Note", key="note-text", max_chars=2000)
            if st.form_submit_button("Keep with this week") and text.strip():
                enter(Kind.NOTE, text, seen.scope, {"week": week})
    scope = address.scope_text(seen.scope)
    said = command("journal", note="WHAT TO NOTE", week=week, scope=scope, who=_who())
    st.code(said, language="sh")


def override_form(seen: View) -> None:
    """Let one type of change pass until a moment."""
    held = seen.published.policy.changes.held
    longest_h = seen.published.policy.decisions.longest_override_us // HOUR_US
    change = st.selectbox("Change", held, format_func=lambda c: c.replace("_", " "))
    hours = st.number_input("For how many hours", 1, max(1, longest_h), min(4, longest_h))
    why = st.text_input("Why", key="override-why", max_chars=500)
    until_us = -(-now_us() // (60 * 10**6)) * 60 * 10**6 + int(hours) * HOUR_US
    st.code(
        command(
            "override",
            change=change,
            scope=address.scope_text(seen.scope),
            until=rfc3339(until_us),
            who=_who(),
            why=why or "WHY",
        ),
        language="sh",
    )
    if _may_enter("Override", why):
        gate.check_until(seen.published.policy, until_us, now_us())
        enter(Kind.OVERRIDE, why, seen.scope, {"change": change, "until_us": until_us})


def hand_form(seen: View) -> None:
    """Freeze or thaw a scope by hand."""
    kind = (
        st.segmented_control("What", ["freeze", "thaw"], default="freeze", key="hand") or "freeze"
    )
    why = st.text_input("Why", key="hand-why", max_chars=500)
    scope = address.scope_text(seen.scope)
    st.code(command(kind, scope=scope, who=_who(), why=why or "WHY"), language="sh")
    if _may_enter(kind.capitalize(), why):
        enter(Kind(kind), why, seen.scope, {"until_us": None})


def exclude_form(seen: View) -> None:
    """Take whole hours of a scope out of every budget."""
    begins = st.text_input("From (on the hour, UTC)", rfc3339(seen.shown_us // HOUR_US * HOUR_US))
    hours = st.number_input("Hours", 1, 720, 1)
    why = st.text_input("Why", key="exclude-why", max_chars=500)
    try:
        from_us = moment_us(begins or "", "--from")
        if from_us is None or from_us % HOUR_US:
            raise UsageError("the ledger is kept by the hour: say a whole one")
    except HeadwayError as e:
        st.error(str(e))
        return
    until_us = from_us + int(hours) * HOUR_US
    st.code(
        command(
            "exclude",
            from_=rfc3339(from_us),
            until=rfc3339(until_us),
            scope=address.scope_text(seen.scope),
            who=_who(),
            why=why or "WHY",
        ),
        language="sh",
    )
    if _may_enter("Exclude", why):
        enter(Kind.EXCLUDE, why, seen.scope, {"from_us": from_us, "until_us": until_us})


def reattribute_form(job: str, detected_us: int) -> None:
    """Give a restart of a job another cause."""
    cause = st.selectbox("Real cause", CAUSES)
    why = st.text_input("Why", key="reattribute-why", max_chars=500)
    second = rfc3339(detected_us // 10**6 * 10**6)
    st.code(
        command("reattribute", job=job, detected=second, cause=cause, who=_who(), why=why or "WHY"),
        language="sh",
    )
    if _may_enter("Re-attribute", why):
        body = {"job": job, "detected_us": detected_us, "cause": cause}
        enter(Kind.REATTRIBUTE, why, Scope(job=job), body)


def answer_form(waiting: list[Ruling], standing: list[Ruling]) -> None:
    """Approve what waits for a second person, or revoke what stands."""
    who = holder()
    own = who.name.strip().casefold() if who else ""
    open_ = [e for e in waiting if e.who.strip().casefold() != own]
    options = [("approve", e) for e in open_] + [("revoke", e) for e in (*standing, *waiting)]
    if not options:
        st.caption("Nothing waits for approval, and nothing stands that could be revoked.")
        return
    kind, entry = st.selectbox(
        "Entry",
        options,
        format_func=lambda pair: (
            f"{pair[0]} {pair[1].id}: {pair[1].kind.value} of {pair[1].scope} by {pair[1].who}"
        ),
    )
    why = st.text_input("Why", key="answer-why", max_chars=500)
    said = command("journal", who=_who(), why=why or "WHY")
    st.code(said.replace("journal", f"journal --{kind} {entry.id}", 1), language="sh")
    if _may_enter(kind.capitalize(), why):
        enter(Kind(kind), why, entry.scope, {}, entry.id)


def _who() -> str:
    who = holder()
    return who.name if who else "NAME"


def _may_enter(label: str, why: str) -> bool:
    if holder() is None:
        read_only()
        return False
    return st.button(label, disabled=not why.strip(), key=f"enter-{label}")


def said_by() -> str:
    """Who writes here, for the page's head."""
    who = holder()
    return f"Entries are signed by **{who.name}** ({who.role})." if who else ""
