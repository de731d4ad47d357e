"""Waiting: why does each job wait, which gangs starve, and were the contracts kept?"""

from typing import Any

import streamlit as st

from answers import waits
from app import address, format, frame, waiting_text
from app.charts import gangs
from app.frame import View
from app.views import waiting

LINKED = 8
"""So many breaches are told with a link to their job, the newest."""


def title(rows: list[dict[str, Any]], whole: dict[str, Any]) -> str:
    """The answer."""
    count = format.plural(len(rows), "job waits", "jobs wait") if rows else "Nobody waits"
    known = f"; {waiting_text.share(whole)} of waiting is explained" if whole["wait_us"] > 0 else ""
    return count + known


def sentence(rows: list[dict[str, Any]], broken: int) -> str:
    """The oldest wait, and the breaches."""
    oldest = "Nothing waits in the queue of this scope."
    if rows:
        oldest = (
            f"The oldest, {address.job_link(rows[0]['job'])}, has waited"
            f" **{format.duration(rows[0]['waited_us'])}**."
        )
    found = format.plural(broken, "contract was broken", "contracts were broken")
    return f"{oldest} **{found if broken else 'No contract was broken'}** in 30 days."


def show_jobs(rows: list[dict[str, Any]]) -> None:
    """A sentence for each job that waits, the oldest first."""
    frame.listed([_waits(row) for row in rows[: waiting.LISTED]], "Nobody waits now.")
    if len(rows) > waiting.LISTED:
        st.caption(f"and {len(rows) - waiting.LISTED} more: `headway why`")


def _waits(row: dict[str, Any]) -> str:
    gpus = "GPUs unknown" if row["gpus"] is None else format.plural(row["gpus"], "GPU")
    more = "; ".join(part for part in (waiting_text.place(row), waiting_text.outlook(row)) if part)
    of_whom = f"{row['tier']}, {gpus}, {format.plain(row['tenant'])}"
    return (
        f"{address.job_link(row['job'])} ({of_whom}), {format.duration(row['waited_us'])}:"
        f" {format.plain(format.capital(row['now']))}. {format.capital(more)}."
    )


def show_gangs(seen: View) -> None:
    """The oldest waiting gangs, and what is lent of their reservations."""
    found = seen.then.ask(waiting.gangs, seen.scope)
    if found:
        drawn = [
            gangs.Gang(row["job"], row["gpus"], row["gathered_gpus"], row["waited_us"])
            for row in found[:12]
        ]
        frame.show(gangs.drawing(drawn, seen.theme, "GPUs gathered of waiting gangs"), key="gangs")
        st.caption("Filled: gathered so far. Right: for how long it has waited.")
        frame.numbers(
            [
                {
                    "Job": row["job"],
                    "Tier": row["tier"],
                    "Needs": row["gpus"],
                    "Gathered": "no reservation"
                    if row["gathered_gpus"] is None
                    else format.count(row["gathered_gpus"]),
                    "Waits since": format.moment(row["since_us"], seen.zone),
                    "For": format.duration(row["waited_us"]),
                }
                for row in found
            ],
            "Numbers: gangs",
        )
    else:
        st.caption("No gang waits for its GPUs now.")
    show_loans(seen)


def show_loans(seen: View) -> None:
    """Reserved but idle GPUs that were lent, and whether the borrowers left on time."""
    found = seen.then.ask(waiting.loans, seen.shown_us)
    bad = [row for row in found if row["was_on_time"] is False or not row["is_preemptible"]]
    if not found:
        st.markdown("No reserved GPUs were lent in these 30 days.")
        return
    verdict = "All went to preemptible work that left on time."
    if bad:
        verdict = f"**{len(bad)}** of them broke the rule."
    times = format.plural(len(found), "time")
    st.markdown(f"Reserved but idle GPUs were lent {times} in 30 days. {verdict}")
    frame.numbers(waiting_text.loaned(found[:200]), "Numbers: loans")


def show_contracts(found: waits.Verdicts) -> None:
    """How often each contract was kept, and each breach with a link to its job."""
    frame.table(waiting_text.summary(found.counts))
    if found.unjudged:
        st.caption(f"Not judged: {'; '.join(found.unjudged)}.")
    newest = f", the newest {LINKED}" if len(found.broken) > LINKED else ""
    st.subheader(f"Broken ({len(found.broken)}){newest}", anchor=False)
    frame.listed(
        [
            f"{address.job_link(row['job'])}, {format.plain(waiting_text.breach(row))}"
            for row in list(reversed(found.broken))[:LINKED]
        ],
        "No contract was broken.",
    )
    if len(found.broken) > LINKED:
        frame.numbers(waiting_text.breaches(found.broken, 500), "Numbers: all breaches")
    frame.shell("contracts", "--broken", "--format", "json")


def page() -> None:
    """The page."""
    seen = frame.view()
    rows = seen.then.ask(waiting.rows, seen.scope)
    known = seen.then.ask(waiting.explained, seen.scope, seen.shown_us)
    judged = seen.then.ask(waiting.contracts, seen.scope, seen.shown_us)
    frame.head(seen, title(rows, known[0]), sentence(rows, len(judged.broken)))
    frame.told_of_then(seen)
    st.header("Oldest gangs", anchor=False)
    show_gangs(seen)
    st.header("Why each job waits", anchor=False)
    show_jobs(rows)
    st.header("How much of waiting is explained", anchor=False)
    frame.table(waiting_text.explained(known))
    st.caption(
        "Waits that ended or went on in these 30 days. Time in the queue without a recorded reason"
        " is unexplained; launch, load and first step are explained."
    )
    st.header("Contracts", anchor=False)
    show_contracts(judged)


page()
