"""Checkpoints: would a restore work? What is proven, run by run."""

import streamlit as st

from app import address, format, frame
from app.views import runs


def page() -> None:
    """The page."""
    seen = frame.view()
    rows = seen.published.ask(runs.checkpoints, seen.scope, seen.shown_us)
    if not rows:
        frame.head(seen, "No large run in these 30 days", "So there is no checkpoint to prove.")
        return
    proven = sum(row["proven_us"] is not None for row in rows)
    broken = [row for row in rows if row["broken"]]
    frame.head(
        seen,
        f"{proven} of {len(rows)} runs are proven by a restore",
        f"**{len(broken)}** lost more than one checkpoint interval to a storage failure in these 30"
        f" days (the promise is none); {sum(row['unmended'] for row in broken)} of them have not"
        " had a passing restore test of their newest checkpoint since."
        if broken
        else "No run lost more than one checkpoint interval to a storage failure.",
    )
    st.header("Proof, by run", anchor=False)
    st.caption("Runs without any proof first, then those that a broken promise holds, then by age.")
    frame.table(
        [
            {
                "Run": row["job"],
                "Promise": "broken"
                if row["unmended"]
                else "broken, mended"
                if row["broken"]
                else "kept",
                "Proven": "not yet"
                if row["proven_us"] is None
                else format.moment(row["proven_us"], seen.zone),
                "Restore tests passed": row["passed"],
                "failed": row["refused"],
                "Checkpoints": row["completed"],
                "that failed": row["failed"],
                "Newest": "none"
                if row["newest_us"] is None
                else f"{format.duration(max(0, seen.shown_us - row['newest_us']))} old",
                "Interval": format.duration(row["interval_us"]),
            }
            for row in rows[:200]
        ]
    )
    links = [f"[{row['job']}]({address.link('job', job=row['job'])})" for row in broken[:8]]
    if links:
        st.markdown("Open one that broke it: " + ", ".join(links))
    st.header("What comes next here", anchor=False)
    st.caption(
        "The curve of saving against work done again, and the advised interval, are not computed"
        " yet: this page shows recorded facts only."
    )


page()
