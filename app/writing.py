"""Entries to the journal from a page, where the app was started with a token that names someone.

Each form shows the command that would do the same, so that nobody depends on the page.
"""

import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

from answers import gate
from answers.clock import now_us
from answers.journal import Journal
from answers.moments import moment_us, rfc3339
from app import address, frame, store
from app.frame import View
from app.tokens import Holder, holder_of
from metrics.conventions import CAUSES, HOUR_US, MINUTE_US
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


def command(*parts: str, **options: str | None) -> None:
    """Show the command that does the same, in the app's own home wherever it is pasted."""
    given = options | {"home": str(store.home().root)}
    said = [(f"--{name.rstrip('_')}", value) for name, value in given.items() if value is not None]
    frame.shell(*parts, *(word for option in said for word in option))


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
    st.session_state[_ENTERED] = why
    st.toast(f"Entry {written.id}: {kind.value} of {scope}")
    st.rerun()


def note_form(seen: View, week: str) -> None:
    """Keep a note with a week."""
    _empty_once_entered("note-text")
    text = st.text_area("Note", key="note-text", max_chars=2000)
    scope = address.scope_text(seen.scope)
    command("journal", note=text or "WHAT TO NOTE", week=week, scope=scope, who=_who())
    if _may_enter("Keep with this week", text):
        enter(Kind.NOTE, text, seen.scope, {"week": week})


def override_form(seen: View) -> None:
    """Let one type of change pass until a moment."""
    held = seen.published.policy.changes.held
    longest_h = seen.published.policy.decisions.longest_override_us // HOUR_US
    change = st.selectbox("Change", held, format_func=lambda c: c.replace("_", " "))
    hours = st.number_input("For how many hours", 1, max(1, longest_h), min(4, longest_h))
    why = _why("override-why")
    # Down to the minute: rounded up, the longest that the policy allows would be too long.
    until_us = (now_us() + int(hours) * HOUR_US) // MINUTE_US * MINUTE_US
    command(
        "override",
        change=change,
        scope=address.scope_text(seen.scope),
        until=rfc3339(until_us),
        who=_who(),
        why=why or "WHY",
    )
    if _may_enter("Override", why):
        gate.check_until(seen.published.policy, until_us, now_us())
        enter(Kind.OVERRIDE, why, seen.scope, {"change": change, "until_us": until_us})


def hand_form(seen: View) -> None:
    """Freeze or thaw a scope by hand."""
    kind = (
        st.segmented_control("What", ["freeze", "thaw"], default="freeze", key="hand") or "freeze"
    )
    why = _why("hand-why")
    scope = address.scope_text(seen.scope)
    command(kind, scope=scope, who=_who(), why=why or "WHY")
    if _may_enter(kind.capitalize(), why):
        enter(Kind(kind), why, seen.scope, {"until_us": None})


def exclude_form(seen: View) -> None:
    """Take whole hours of a scope out of every budget."""
    begins = st.text_input("From (on the hour, UTC)", rfc3339(seen.shown_us // HOUR_US * HOUR_US))
    hours = st.number_input("Hours", 1, 720, 1)
    why = _why("exclude-why")
    try:
        from_us = moment_us(begins or "", "--from")
        if from_us is None or from_us % HOUR_US:
            raise UsageError("the ledger is kept by the hour: say a whole one")
    except HeadwayError as e:
        st.error(str(e))
        return
    until_us = from_us + int(hours) * HOUR_US
    command(
        "exclude",
        from_=rfc3339(from_us),
        until=rfc3339(until_us),
        scope=address.scope_text(seen.scope),
        who=_who(),
        why=why or "WHY",
    )
    if _may_enter("Exclude", why):
        enter(Kind.EXCLUDE, why, seen.scope, {"from_us": from_us, "until_us": until_us})


def reattribute_form(job: str, detected_us: int) -> None:
    """Give a restart of a job another cause."""
    cause_key, why_key = _REATTRIBUTION
    cause = st.selectbox("Real cause", CAUSES, key=cause_key)
    why = _why(why_key)
    second = rfc3339(detected_us // 10**6 * 10**6)
    command("reattribute", job=job, detected=second, cause=cause, who=_who(), why=why or "WHY")
    if _may_enter("Re-attribute", why):
        body = {"job": job, "detected_us": detected_us, "cause": cause}
        enter(Kind.REATTRIBUTE, why, Scope(job=job), body)


_REATTRIBUTION = ("reattribute-cause", "reattribute-why")


def keep_reattribution() -> None:
    """Keep what that form holds while it is closed: Streamlit forgets what is not shown."""
    for key in _REATTRIBUTION:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


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
    why = _why("answer-why")
    command("journal", f"--{kind}", str(entry.id), who=_who(), why=why or "WHY")
    if _may_enter(kind.capitalize(), why):
        enter(Kind(kind), why, entry.scope, {}, entry.id)


def _who() -> str:
    who = holder()
    return who.name if who else "NAME"


_ENTERED = "entered"
"""Where a session keeps the words that it entered last."""


def _empty_once_entered(key: str) -> None:
    """Empty a field whose words are in the journal now, so that nobody enters them twice."""
    if st.session_state.get(key) and st.session_state[key] == st.session_state.get(_ENTERED):
        st.session_state[key] = ""
        del st.session_state[_ENTERED]


def _why(key: str) -> str:
    _empty_once_entered(key)
    return st.text_input("Why", key=key, max_chars=500)


def _may_enter(label: str, why: str) -> bool:
    if holder() is None:
        read_only()
        return False
    if not st.button(label, key=f"enter-{label}"):
        return False
    if not why.strip():
        st.error("Say it in words first.")
    return bool(why.strip())


def said_by() -> str:
    """Who writes here, for the page's head."""
    who = holder()
    return f"Entries are signed by **{who.name}** ({who.role})." if who else ""
