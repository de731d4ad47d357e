"""Data health: what can be trusted, and what each hole costs in known budget."""

from fractions import Fraction
from typing import Any

import streamlit as st

from app import address, format, frame
from app.charts import spend
from app.frame import View
from app.palette import THEMES
from app.views import health, home
from metrics.budget import Amount, Budget


def show_holes(seen: View, lacking: list[dict[str, object]]) -> None:
    """GPU time without step records, by job."""
    st.header("Jobs without step records", anchor=False)
    if not lacking:
        st.caption("None in these 30 days: every job with a wall-clock records its steps.")
        return
    whole = sum(int(str(row["gpu_us"])) for row in lacking)
    target = seen.published.policy.target("goodput")
    added = ""
    if target is not None:
        allowed = Budget(Amount(whole, 0), target).allowed
        added = (
            f" Recorded, they would add {format.gpu_hours(allowed)} of allowance, and whatever they"
            " lost."
        )
    st.markdown(f"**{format.gpu_hours(whole)}** are in no goodput budget.{added}")
    color = THEMES[seen.theme].category("uninstrumented")
    spenders = [
        spend.Spender(str(row["job"]), str(row["job"]), int(str(row["gpu_us"])), color)
        for row in lacking
    ]
    spent = spend.Spent(spenders, "gpu_us", whole, "of these")
    title = "GPU time without step records, by job"
    frame.show(spend.drawing(spent, seen.theme, title), key="holes")
    frame.numbers(
        [
            {
                "Job": row["job"],
                "Tenant": row["tenant"],
                "Tier": row["tier"],
                "Unknown": format.gpu_hours(int(str(row["gpu_us"]))),
            }
            for row in lacking[:100]
        ],
        "Numbers: jobs without step records",
    )
    st.markdown("To close the hole record for each step: `job, attempt, step, ts, duration_s`.")


def show_unattributed(seen: View) -> None:
    """Charged time that no record explains."""
    st.header("Time that no record explains, by job", anchor=False)
    rows = seen.published.ask(health.unattributed, seen.scope, seen.shown_us)
    if not rows:
        st.caption("None is charged in these 30 days.")
        return
    allowed = seen.published.ask(
        home.report_of, seen.scope, seen.shown_us, "goodput"
    ).budget.allowed
    frame.table(
        [
            {
                "Job": row["name"],
                "Unattributed": format.gpu_hours(row["lost"]),
                "Of its wall-clock": format.percent(Fraction(row["lost"], row["wall"]))
                if row["wall"]
                else format.UNKNOWN,
                "Of the budget": format.percent(Fraction(row["lost"], allowed))
                if allowed
                else format.UNKNOWN,
            }
            for row in rows
        ]
    )
    links = ", ".join(address.job_link(row["name"]) for row in rows[:5])
    st.markdown(f"Look at {links}.")


def show_quarantine(seen: View, rows: list[dict[str, object]]) -> None:
    """Records that were not stored."""
    st.header("Quarantine, by reason", anchor=False)
    if not rows:
        st.caption("Nothing: every record could be read.")
        return
    frame.table(
        [
            {
                "Reason": row["reason"],
                "Records": row["records"],
                "For example": row["example"],
                "In": row["example_path"],
                "Line": str(row["example_line"] or "none"),
            }
            for row in rows
        ]
    )
    frame.numbers(seen.published.read(health.examples), "The first 50 records")


def show_findings(rows: list[dict[str, object]]) -> None:
    """Contradictions in what was stored, by kind."""
    st.header("Records that contradict one another, or lack something", anchor=False)
    kinds: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        kinds.setdefault(str(row["finding"]), []).append(row)
    frame.table(
        [
            {
                "Finding": kind,
                "What it means there": found[0]["detail"],
                "Jobs": len({row["job"] for row in found}),
                "For example": found[0]["job"],
            }
            for kind, found in kinds.items()
        ]
    )


def show_checks(seen: View) -> None:
    """Checks, counted again on what is published."""
    st.header("Checks of the published numbers", anchor=False)
    found = seen.published.read(health.balance)
    frame.table(
        [
            {
                "Check": "Every job’s hours sum to its wall-clock",
                "Faults": found["unbalanced_jobs"],
                "Over": f"{format.count(found['job_hours'])} job-hours",
            },
            {
                "Check": "No time is zero or negative",
                "Faults": found["not_positive"],
                "Over": f"{format.count(found['job_hours'])} job-hours",
            },
            {
                "Check": "No GPU time of what is installed is zero or negative",
                "Faults": found["capacity_not_positive"],
                "Over": f"{format.count(found['capacity_hours'])} hours",
            },
        ]
    )
    st.caption(
        "Nothing is published where a job’s hours do not sum to its wall-clock, an hour’s capacity"
        " not to what is installed, or a key stands twice. Dagster’s page (`headway up`) has every"
        " run of these checks, and of those that only warn."
    )


def show_silent(seen: View, silent: list[dict[str, Any]]) -> None:
    """Jobs that are presumed gone."""
    st.header("Silent jobs", anchor=False)
    if silent:
        limit = format.duration(seen.published.policy.silent_after_us)
        st.markdown(f"Nothing was heard of them for longer than {limit}: they are presumed gone.")
        frame.table(
            [
                {
                    "Job": row["job"],
                    "Tenant": row["tenant"] or "unknown",
                    "GPUs": row["gpus"] or "unknown",
                    "Last record": format.moment(row["last_record_us"], seen.zone),
                }
                for row in silent
            ]
        )
    else:
        st.caption("None.")


def show_files(seen: View) -> None:
    """What each source delivered."""
    st.header("What was ingested", anchor=False)
    frame.table(
        [
            {
                "Source": row["source"],
                "Files": format.count(row["files"]),
                "Records": format.count(row["records"]),
                "Delivered again": row["duplicates"],
                "Quarantined": row["quarantined"],
                "Latest": format.moment(row["latest_us"]),
            }
            for row in seen.published.read(health.files)
        ]
    )


def page() -> None:
    """The page."""
    seen = frame.view()
    quality = seen.published.read(health.quality)
    share = seen.published.ask(frame.coverage, seen.scope, seen.shown_us)
    silent = seen.published.read(health.silent)
    records = sum(row["records"] for row in quality["quarantine"])
    title = (
        "Coverage is unknown" if share is None else f"{format.percent(share)} of GPU time is known"
    )
    frame.head(
        seen,
        title,
        f"{format.plural(records, 'record')} in quarantine,"
        f" {format.plural(len(silent), 'silent job')},"
        f" {format.plural(len(quality['findings']), 'finding')}.",
    )
    frame.told_of_newest(
        seen, "Silent jobs, quarantine, contradictions, checks and what was ingested are told"
    )
    lacking = seen.published.ask(health.uninstrumented, seen.scope, seen.shown_us)
    show_holes(seen, lacking)
    show_unattributed(seen)
    show_silent(seen, silent)
    show_quarantine(seen, quality["quarantine"])
    show_findings(quality["findings"])
    show_checks(seen)
    show_files(seen)


page()
