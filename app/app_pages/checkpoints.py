"""Checkpoints: would a restore work? What is proven, run by run."""

import streamlit as st

from answers.durability import Durability, Run
from app import address, format, frame
from app.frame import View
from app.views import runs
from metrics.durability import Promise
from metrics.objectives import StorageFailure

SHOWN = 200  # rows of a table


def sentence(found: Durability) -> str:
    """What broke, and what is known of the chance that a restore fails."""
    still = sum(run.promise is Promise.BROKEN for run in found.runs)
    broken = still + sum(run.is_broken_and_mended for run in found.runs)
    said = (
        f"**{format.plural(broken, 'run')}** lost more than one checkpoint interval to a storage"
        f" failure in these 30 days (the promise is none); {_unmended(still)}. "
        if broken
        else "No promise is broken. "
    )
    tests = found.passes + found.failures
    if found.bound is None:
        return said + "No restore was tested, so the chance that one fails is unknown."
    return said + (
        f"Of {format.plural(tests, 'restore test')} **{format.count(found.failures)}** failed: at"
        f" 95 % confidence a restore fails in less than **{format.percent(found.bound)}** of cases."
    )


def _unmended(still: int) -> str:
    if not still:
        return "all of them restored their newest checkpoint since"
    have = "has" if still == 1 else "have"
    return f"**{still}** of them {have} not restored the newest checkpoint since"


def promise(run: Run) -> str:
    """A run's promise in words."""
    return "broken, mended" if run.is_broken_and_mended else run.promise.value


def line(row: runs.Saved) -> dict[str, str]:
    """A run's line of the table."""
    run = row.run
    return {
        "Run": run.job,
        "Promise": promise(run),
        "Last pass (newest)": "none"
        if run.last_pass_us is None
        else f"{format.moment(run.last_pass_us)}, {format.duration(run.age_us)} ago",
        "Proven": f"{format.count(run.tested_steps)} of {format.count(run.completed_steps)}",
        "Tests": f"{format.count(run.passes)} passed, {format.count(run.failures)} failed",
        "Fails below": format.percent(run.bound),
        "Storage failures": format.count(len(run.storage_failures)),
        "Interval": format.duration(row.interval_us),
        "Advised": format.duration(row.advised_us),
        "Well chosen": {True: "yes", False: "no", None: format.UNKNOWN}[row.is_well_chosen],
    }


def saving(seen: View, row: runs.Saved) -> dict[str, str]:
    """What a run saved."""
    newest_us = row.newest_us
    return {
        "Run": row.run.job,
        "Newest": "none"
        if newest_us is None
        else f"{format.duration(max(0, seen.shown_us - newest_us))} old",
        "Saves that failed": format.count(row.failed),
        "Interval promised": format.duration(row.interval_us),
        "Measured": format.duration(row.measured_us),
    }


def show_runs(seen: View, rows: list[runs.Saved]) -> None:
    """The proof of each run."""
    st.header("Proof, by run", anchor=False)
    st.caption(
        "Broken promises first, then runs without a proof, then the oldest proofs. A run is proven"
        " by restoring the checkpoint that is its newest at that time. Fails below: restores of it"
        " fail in less of all cases, at 95 % confidence. Advised is the interval that"
        " its own saves and failures ask for; My job has the curve."
    )
    frame.table([line(row) for row in rows[:SHOWN]])
    with frame.behind("Saves, and the interval as measured") as is_open:
        if is_open:
            frame.table([saving(seen, row) for row in rows[:SHOWN]])
    if len(rows) > SHOWN:
        st.caption(f"and {format.plural(len(rows) - SHOWN, 'run')} more, all better proven")
    links = [address.job_link(row.run.job) for row in rows if row.run.promise is Promise.BROKEN]
    if links:
        st.markdown("Open one that broke it: " + ", ".join(links[:8]))
    st.caption("Prove one now: `headway restore-test JOB`.")


def verdict(failure: StorageFailure) -> str:
    """Whether a storage failure broke the promise."""
    if not failure.is_judged:
        return "unknown"
    if failure.breach is None:
        return "within the interval"
    return "broken, not mended" if failure.mended_us is None else "broken, mended"


def _listed(checks: str | None) -> str:
    return (checks or "").replace(",", ", ")


def show_failures(found: Durability) -> None:
    """What the storage did, and what it cost."""
    st.header("Storage failures", anchor=False)
    st.caption(
        "Interruptions with that cause; attempts that took up an older checkpoint than the newest"
        " though nobody asked; failed tests of the newest, by what a restart then would have lost."
    )
    failures = sorted(
        (failure for run in found.runs for failure in run.storage_failures),
        key=lambda failure: -failure.at_us,
    )
    frame.table(
        [
            {
                "Run": failure.job,
                "When": format.moment(failure.at_us),
                "What": failure.kind,
                "Lost": format.duration(failure.lost_us),
                "Interval": format.duration(failure.interval_us),
                "Promise": verdict(failure),
            }
            for failure in failures[:SHOWN]
        ]
    )


def show_tests(seen: View) -> None:
    """The newest verdicts, with what failed."""
    st.header("Restore tests", anchor=False)
    tests = seen.published.ask(runs.restore_tests, seen.scope, seen.shown_us)
    frame.table(
        [
            {
                "Run": test["job"],
                "Step": "unknown" if test["step"] is None else format.count(test["step"]),
                "When": format.moment(test["ts_us"]),
                "Result": test["result"],
                "Newest then": "yes" if test["is_newest"] else "no",
                "Took": format.duration(test["duration_us"]),
                "Details": test["detail"] or _listed(test["checks"]) or "none recorded",
            }
            for test in tests[:SHOWN]
        ]
    )


def page() -> None:
    """The page."""
    seen = frame.view()
    found, rows = seen.published.ask(runs.checkpoints, seen.scope, seen.shown_us)
    if not rows:
        frame.head(seen, "No large run in these 30 days", "So there is no checkpoint to prove.")
        return
    proven = sum(run.last_pass_us is not None for run in found.runs)
    title = f"{proven} of {format.plural(len(rows), 'run')} proven by a restore"
    frame.head(seen, title, sentence(found))
    show_runs(seen, rows)
    show_failures(found)
    show_tests(seen)


page()
