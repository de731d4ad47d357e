"""Restarts: which phase takes us over the limit, by cause, week and node."""

from fractions import Fraction
from typing import Any

import streamlit as st

from app import address, format, frame
from app.charts import curves, phases, spend
from app.frame import View
from app.palette import CAUSE_LABELS, PHASE_LABELS, PHASES, THEMES
from app.quantiles import reached, show_weeks
from app.views import home, spans
from metrics.survival import Span, curve

A_PAGE = 25


def title(spread: spans.Spread, rows: list[dict[str, Any]], days: int) -> str:
    """The answer."""
    if not spread.count:
        return f"No restarts in these {format.plural(days, 'day')}"
    worst = worst_phase(rows, spread.limit_us or 0)
    within = format.percent(spread.within)
    if worst is None:
        return f"{within} of restarts within the limit"
    return f"{within} within the limit; {PHASE_LABELS[worst].lower()} costs most"


def worst_phase(rows: list[dict[str, Any]], limit_us: int) -> str | None:
    """The phase that took longest in restarts over the limit."""
    sums = {
        phase: sum(row[f"{phase}_us"] or 0 for row in rows if row["age_us"] >= limit_us)
        for phase in PHASES[1:]
    }
    phase, us = max(sums.items(), key=lambda item: item[1])
    return phase if us else None


def show_phases(seen: View, rows: list[dict[str, Any]], limit_us: int) -> None:
    """Newest restarts, their phases side by side."""
    st.header("Phases of each", anchor=False)
    pages = -(-len(rows) // A_PAGE)
    place = 1
    if pages > 1:
        said = f"Page of {pages}, newest first"
        place = int(st.number_input(said, 1, pages, 1, key="page", width=220))
    shown = rows[(place - 1) * A_PAGE : place * A_PAGE]
    drawn = [
        phases.Restart(
            f"{row['job']} · {CAUSE_LABELS.get(row['cause'], row['cause']).lower()}",
            {phase: row[f"{phase}_us"] for phase in PHASES},
            row["age_us"],
            row["outcome"],
        )
        for row in shown
    ]
    keys = "  ".join(
        f'<span style="color:{THEMES[seen.theme].phases[phase]}">■</span> {PHASE_LABELS[phase]}'
        for phase in PHASES
    )
    st.html(f'<div style="font-size:0.85rem">{keys}</div>')
    frame.show(phases.stacked(drawn, seen.theme, limit_us, "Restarts in phases"), key="stacked")
    frame.numbers([_numbers(row) for row in shown], "Numbers: restarts in phases")
    jobs = list(dict.fromkeys(row["job"] for row in shown))
    st.markdown("Open a job: " + ", ".join(address.job_link(job) for job in jobs[:8]))


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    facts = {
        "Job": row["job"],
        "Detected": format.moment(row["detected_us"]),
        "Cause": CAUSE_LABELS.get(row["cause"], row["cause"]),
        "To restart": format.duration(row["age_us"]),
        "Outcome": row["outcome"],
    }
    parts = {PHASE_LABELS[phase]: format.duration(row[f"{phase}_us"]) for phase in PHASES}
    return facts | parts | {"Work done again": format.duration(row["again_us"])}


def show_groups(groups: list[spans.Spread], what: str, names: dict[str, str]) -> None:
    """A table of groups."""
    frame.table(
        [
            {
                what: names.get(group.label, group.label),
                "Restarts": group.count,
                "Over the limit": group.over,
                "p50": reached(group, 50),
                "p90": reached(group, 90),
                "Not recovered": group.waiting,
            }
            for group in groups
        ]
    )


def show_goodput(seen: View) -> None:
    """What a minute of restart costs in goodput."""
    st.header("Minutes of restart as goodput", anchor=False)
    found = seen.published.ask(home.goodput, seen.scope, seen.shown_us)
    minute, between_us = found["cost_of_a_restart_minute"], found["between_interruptions_us"]
    if minute is None:
        st.caption("Unknown: no instrumented large job was interrupted in these 30 days.")
        return
    st.markdown(
        f"A large job is interrupted every **{format.duration(between_us)}** on average, so each"
        f" minute of restart costs **{minute * 100:.2f} %** of its goodput: ten minutes saved a"
        f" restart would give back {minute * 1000:.1f} %."
    )


def sentence(seen: View, spread: spans.Spread) -> str:
    """How many there were, how many took too long, and how long."""
    limit = format.duration(seen.published.policy.restart_limit_us)
    target = seen.published.policy.target("time_to_restart")
    aim = f" (target: {format.percent(target, 0)} in less)" if target is not None else ""
    late = f"{format.count(spread.waiting)} of them not recovered"
    return (
        f"Of {format.plural(spread.count, 'restart')} of large jobs in"
        f" {format.plural(seen.days, 'day')} **{format.count(spread.over)}** took {limit} or"
        f" longer{aim}. p50 **{reached(spread, 50)}**, p90 **{reached(spread, 90)}**;"
        f" {late if spread.waiting else 'all recovered'}."
    )


def show_times(seen: View, spread: spans.Spread) -> None:
    """The distribution against the limit."""
    st.header("How long restarts took", anchor=False)
    drawn = curves.Curve(
        "Restarts",
        curve(spread.spans),
        spread.censored_us,
        spread.limit_us,
        spread.within,
        [(p, us) for p in (50, 90) if (us := spread.quantile_us(p)) is not None],
    )
    target = seen.published.policy.target("time_to_restart")
    said = "Share of restarts recovered by time"
    frame.show(curves.drawing([drawn], seen.theme, said, target), key="ecdf")
    st.caption("Share recovered by time from detection, log scale. | a restart not recovered yet.")
    frame.numbers(
        [{"Quantile": f"p{p}", "Time to restart": reached(spread, p)} for p in spans.QUANTILES],
        "Numbers: quantiles",
    )


def show_by_cause_and_node(rows: list[dict[str, Any]], limit_us: int) -> None:
    """Two tables side by side."""
    left, right = st.columns(2, gap="large")
    with left:
        st.header("By cause", anchor=False)
        show_groups(spans.grouped(rows, "cause", limit_us), "Cause", CAUSE_LABELS)
    with right:
        st.header("Worst nodes", anchor=False)
        show_groups(spans.grouped(rows, "node", limit_us)[:8], "Node", {})


def show_spent_by_phase(seen: View, rows: list[dict[str, Any]]) -> None:
    """Where the time of all restarts went, by phase."""
    theme = THEMES[seen.theme]
    sums = {phase: sum(row[f"{phase}_us"] or 0 for row in rows) for phase in PHASES}
    sums["rework"] = sum(row["again_us"] for row in rows)
    spenders = [
        spend.Spender(
            phase,
            PHASE_LABELS[phase],
            us,
            theme.category("restart"),
            us if phase == "rework" else 0,
        )
        for phase, us in sorted(sums.items(), key=lambda item: -item[1])
        if us
    ]
    spent = spend.Spent(spenders, "us", sum(sums.values()), "of all")
    st.header("Where the time of all restarts went", anchor=False)
    frame.show(spend.drawing(spent, seen.theme, "Time of all restarts by phase"), key="by-phase")
    frame.numbers(
        [
            {
                "Phase": s.label,
                "Time": format.duration(s.amount),
                "Share": format.percent(Fraction(s.amount, spent.whole)),
            }
            for s in spenders
        ],
        "Numbers: time by phase",
    )


def page() -> None:
    """The page."""
    seen = frame.view()
    limit_us = seen.published.policy.restart_limit_us
    rows = seen.published.ask(spans.restarts, seen.scope, seen.shown_us, seen.days)
    spread = spans.spread_of(rows, "Restarts", limit_us)
    said = sentence(seen, spread) if rows else "No large job was interrupted."
    frame.head(seen, title(spread, rows, seen.days), said)
    frame.choose_window(seen)
    if not rows:
        return
    show_times(seen, spread)
    show_phases(seen, rows, limit_us)
    show_by_cause_and_node(rows, limit_us)
    st.header("By week", anchor=False)
    ages = [
        (row["detected_us"], Span(row["age_us"], row["outcome"] != "recovered")) for row in rows
    ]
    show_weeks(seen, ages, limit_us, "Time to restart")
    show_goodput(seen)
    show_spent_by_phase(seen, rows)


page()
