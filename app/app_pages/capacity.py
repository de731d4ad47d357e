"""Capacity: where are the GPUs, and which gap is deliberate? Utilization is no objective."""

import json

import streamlit as st

from app import capacity_text, format, frame
from app.charts import area
from app.frame import View
from app.palette import GROUP_LABELS, THEMES
from app.views import capacity, cluster, spans
from metrics.capacity import GROUPS


def show_keys(seen: View, found: capacity.Capacity) -> None:
    """What the colours mean, where the chart is too narrow to say it beside them."""
    theme = THEMES[seen.theme]
    keys = []
    for group in found.spent.by_group:
        color, fill, _ = area.paint(group, theme)
        fill_percent = round(fill * 100)
        keys.append(
            f'<span style="white-space:nowrap"><span style="display:inline-block;width:.7em;'
            f"height:.7em;border:1px solid {color};background:color-mix(in srgb, {color}"
            f' {fill_percent}%, transparent)"></span> {GROUP_LABELS[group]}</span>'
        )
    st.html(
        "<style>.capacity-keys{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem}"
        f"@media (min-width:{area.KEYS_BELOW}px){{.capacity-keys{{display:none}}}}</style>"
        f'<div class="capacity-keys">{"".join(keys)}</div>'
    )


def show_course(seen: View, found: capacity.Capacity) -> None:
    """What is installed over time, and the table behind it."""
    st.header("Installed GPUs, by what they did", anchor=False)
    show_keys(seen, found)
    frame.show(area.drawing(found.bins, seen.theme, "Installed GPUs"), key="area")
    frame.numbers(
        [
            {"From": format.moment(b.start_us), "Installed": f"{float(b.installed):,.1f} GPUs"}
            | {
                GROUP_LABELS[group]: format.gpu_hours(b.by_group.get(group, 0))
                for group in GROUPS
                if group in found.spent.by_group
            }
            for b in found.bins
        ],
        "Numbers: installed GPUs",
    )


def show_shares(seen: View, start_us: int, end_us: int) -> None:
    """What each tenant was guaranteed, used, lent and borrowed."""
    st.header("Fair share, by tenant", anchor=False)
    if not seen.published.policy.shares:
        st.caption("The policy guarantees nothing to anybody (`shares:`): what is lent is unknown.")
    frame.table(capacity_text.shares(seen.published.ask(capacity.shares, start_us, end_us)))
    days = seen.published.ask(capacity.share_days, start_us, end_us)
    frame.numbers(capacity_text.shares(days), "By day")


def show_samples(seen: View, start_us: int, end_us: int) -> None:
    """What Prometheus says of GPUs, racks and queues, where it is pulled."""
    rows = seen.published.read(cluster.samples, start_us, end_us)
    if not rows:
        return
    st.header("Measured by Prometheus", anchor=False)
    frame.table(
        [
            {
                "What": row["query"].replace("_", " "),
                "Of": ", ".join(f"{k} {v}" for k, v in json.loads(row["labels"]).items()) or "all",
                "Newest": f"{row['newest']:,.6g}",
                "At": format.moment(row["at_us"], seen.zone),
                "Mean": f"{row['mean']:,.6g}",
                "Lowest": f"{row['lowest']:,.6g}",
                "Highest": f"{row['highest']:,.6g}",
            }
            for row in rows
        ]
    )
    st.caption(
        "Beside the ledger, and no part of it: `headway pull-prometheus` says what is pulled."
    )


def page() -> None:
    """The page."""
    seen = frame.view()
    start_us, end_us = seen.published.ask(spans.window, seen.shown_us)
    found = seen.published.ask(capacity.capacity, seen.scope, start_us, end_us)
    spent, price = found.spent, seen.published.policy.price
    if not spent.installed:
        frame.head(
            seen,
            "What is installed is unknown",
            "No state of a node is on record in these 30 days: `node_state` events say what each"
            " node is set aside for, and its GPUs.",
            with_scope=False,
        )
        return
    frame.head(
        seen,
        "How much of installed GPU time is useful is unknown"
        if spent.busy_share is None
        else f"{format.percent(spent.busy_share)} of installed GPU time is useful",
        f"{capacity_text.sentence(spent, price)} This is for planning: neither share is ever an"
        " objective, as maximising it removes the reserves that every objective lives on.",
        with_scope=False,
    )
    show_course(seen, found)
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("The gap, and what it costs", anchor=False)
        frame.table(capacity_text.groups(spent, price))
    with right:
        st.header("Cost by tenant", anchor=False)
        frame.table(capacity_text.tenants(found.tenants, price))
    frame.numbers(capacity_text.rows(spent, price), "Every category")
    show_shares(seen, start_us, end_us)
    show_samples(seen, start_us, end_us)


page()
