"""Weekly review: what spent it, what improved, what do we do? One page to walk through."""

import streamlit as st

from app import address, capacity_text, format, frame, markup, review_text, waiting_text, writing
from app.charts import area
from app.frame import View
from app.views import home, review


def week_of(seen: View) -> str:
    """The week of the address, else the last whole one."""
    found = seen.published.ask(review.weeks)
    whole = [name for name in found if review.Week.named(name).end_us <= seen.through_us]
    return address.get("week") or (whole or found)[0]


def choose_week(seen: View, present: str) -> None:
    """The weeks of the data, and the one that the address names."""
    found = seen.published.ask(review.weeks)
    options = found if present in found else [present, *found]
    st.session_state["week"] = present

    def chosen() -> None:
        address.put(week=st.session_state["week"])

    st.selectbox("Week", options, key="week", on_change=chosen, label_visibility="collapsed")


def show_capacity(seen: View, found: review.Review) -> None:
    """What the installed GPUs did, against last week."""
    if found.capacity is None:
        return
    week, before = found.capacity
    price = seen.published.policy.price
    st.header("Capacity", anchor=False)
    st.markdown(capacity_text.sentence(week.spent, price))
    frame.show(area.drawing(week.bins, seen.theme, "Installed GPUs"), key="week-capacity")
    frame.table(capacity_text.groups(week.spent, price, before))


def waits_and_contracts(found: review.Review) -> None:
    """How much of the week's waiting is explained, and each contract that was broken."""
    st.markdown(review_text.contracts_sentence(found))
    frame.table(waiting_text.explained(found.explained), "Nothing waited.")
    frame.table(waiting_text.summary(found.contracts.counts), "No contract applies.")
    broken = found.contracts.broken
    frame.listed(
        [
            f"{address.job_link(row['job'])}, {format.moment(row['at_us'])}:"
            f" {format.plain(row['detail'])}"
            for row in reversed(broken[-review.TOP_BROKEN :])
        ],
        "No contract was broken in this week.",
    )
    if len(broken) > review.TOP_BROKEN:
        st.markdown(f"All {len(broken)} are on [Waiting]({address.link('waiting')}).")


def show_spent(seen: View, found: review.Review) -> None:
    """What spent the budget, and what moved most."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("What spent it", anchor=False)
        if found.spent:
            frame.show(review_text.spent_chart(found, seen.theme), key="week-spent")
            st.caption(review_text.SPENT_KEY)
        else:
            st.caption("Nothing was charged in this week.")
    with right:
        st.header("Biggest moves", anchor=False)
        frame.listed(review_text.moves(found), "Nothing moved.")


def show_line(seen: View, found: review.Review) -> None:
    """The budget that was left, hour by hour."""
    line = seen.published.ask(home.line, seen.scope, found.as_of_us, "goodput")
    if line.left:
        course = seen.published.ask(home.course, seen.scope, found.as_of_us)
        st.header("Goodput budget left, 30 days to the week’s end", anchor=False)
        frame.show(review_text.line_chart(found, line, course, seen.theme), key="week-line")
        st.caption(review_text.LINE_KEY)


def show_rulings(seen: View, found: review.Review) -> None:
    """What people and the gate decided."""
    st.header("Freezes, overrides, adjustments", anchor=False)
    ruled = review_text.decided(found, review.ruled(seen.published.rulings.entries, found.week))
    frame.listed([format.plain(line) for line in ruled], "None in this week.")


def show_losers(found: review.Review) -> None:
    """The jobs and the nodes that lost most."""
    one, two = st.columns(2, gap="large")
    with one:
        st.header("Top five jobs by charged loss", anchor=False)
        frame.table(review_text.losers(found.jobs, "Job"))
        links = ", ".join(address.job_link(job) for job, *_ in found.jobs if job)
        st.markdown(f"Open {links}" if links else "")
    with two:
        st.header("Top five nodes", anchor=False)
        frame.table(review_text.losers(found.nodes, "Node"))


def show_notes(seen: View, found: review.Review) -> None:
    """The notes kept with the week, and a form for another."""
    st.header("Notes", anchor=False)
    frame.listed(
        [
            f"{format.plain(note.why)} ({format.plain(note.who)})"
            for note in review.notes(seen.published.rulings.entries, found.week)
        ],
        "No note is kept with this week yet.",
    )
    writing.note_form(seen, found.week.name)


def page() -> None:
    """The page."""
    seen = frame.view()
    name = week_of(seen)
    found = seen.published.ask(review.review, seen.scope, name)
    frame.head(
        seen,
        review_text.title(found),
        review_text.sentence(found),
        choose=lambda: choose_week(seen, name),
        at_a_look=markup.table(review_text.objectives(found)),
    )
    show_spent(seen, found)
    show_line(seen, found)
    show_rulings(seen, found)
    show_losers(found)
    st.header("Open restarts", anchor=False)
    frame.table(review_text.restarts(found), "None at the week’s end.")
    st.header("Promises broken", anchor=False)
    frame.table(review_text.broken(found), "None in this week.")
    st.header("Waits and contracts", anchor=False)
    waits_and_contracts(found)
    show_capacity(seen, found)
    show_notes(seen, found)
    st.caption("To take it along:")
    frame.shell("review", "--week", found.week.name, "--out", "reviews")


page()
