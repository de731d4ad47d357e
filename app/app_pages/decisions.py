"""Decisions: all that people ruled and Headway decided, and entering more where that is allowed."""

import streamlit as st

from app import format, frame, writing
from app.frame import View
from metrics.rulings import SAID_ONCE, Kind, Ruling


def show_all(seen: View) -> None:
    """The journal as it stood at the moment of the page, newest first."""
    entries = [e for e in seen.published.rulings.entries if e.at_us <= seen.as_of_us]
    frame.table(
        [
            {
                "Entry": f"{entry.id} {entry.kind.value}",
                "Why": entry.why,
                "Status": status(seen, entry),
                "Scope": str(entry.scope),
                "Who": entry.who,
                "At": format.moment(entry.at_us),
            }
            for entry in reversed(entries[-200:])
        ],
        "Nothing is on record yet.",
    )
    frame.shell("journal")


def status(seen: View, entry: Ruling) -> str:
    """What a decision of Headway came to, or whether one of people is in force."""
    if entry.kind is Kind.REFUSAL:
        return "held"
    decided = entry.body.get("state")
    return str(decided or seen.published.rulings.status(entry, seen.as_of_us))


def answerable(seen: View) -> tuple[list[Ruling], list[Ruling]]:
    """Entries that wait for a second person, and those in force."""
    rulings = seen.published.rulings
    own = [entry for entry in rulings.entries if entry.kind not in SAID_ONCE]
    by_status = {entry.id: rulings.status(entry, seen.as_of_us) for entry in own}
    waiting = [entry for entry in own if "approval" in by_status[entry.id]]
    standing = [entry for entry in own if by_status[entry.id] == "in force"]
    return waiting, standing


def page() -> None:
    """The page."""
    seen = frame.view()
    waiting, standing = answerable(seen)
    title = (
        f"{format.plural(len(standing), 'decision')} by people in force"
        if standing
        else "No decision by people is in force"
    )
    frame.head(
        seen, title, f"{format.plural(len(waiting), 'entry', 'entries')} waiting for approval."
    )
    if said := writing.said_by():
        st.markdown(said)
    show_all(seen)
    st.header("Enter a decision", anchor=False)
    names = ["Override", "Freeze or thaw", "Exclude hours", "Approve or revoke"]
    override, hand, exclude, answer = st.tabs(names)
    with override:
        writing.override_form(seen)
    with hand:
        writing.hand_form(seen)
    with exclude:
        writing.exclude_form(seen)
    with answer:
        writing.answer_form(waiting, standing)
    st.caption("A restart’s cause is changed on its job’s page.")


page()
