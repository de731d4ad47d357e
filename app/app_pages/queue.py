"""Queue wait: does each tier start in time, and what do the others wait for?"""

from fractions import Fraction
from typing import Any

import streamlit as st

from app import address, format, frame
from app.charts import curves, spend
from app.frame import View
from app.palette import REASON_LABELS, THEMES
from app.quantiles import reached, show_weeks
from app.views import spans
from metrics.survival import Span, curve


def title(tiers: list[spans.Spread], target: Fraction | None) -> str:
    """The answer."""
    limited = [tier for tier in tiers if tier.limit_us is not None]
    if not limited:
        return "No tier with a limit had jobs"
    judged = [tier for tier in limited if tier.within is not None]
    if not judged:
        return "Too early to say whether tiers start in time"
    if target is None:
        return "How long each tier waits"
    missed = [tier for tier in judged if (tier.within or 0) < target]
    if not missed:
        return "Every tier starts in time"
    named = " and ".join(tier.label for tier in missed)
    return f"{named.capitalize()} {'starts' if len(missed) == 1 else 'start'} too late"


def limit_of(tier: spans.Spread) -> str:
    """Its limit, or why it has none."""
    if tier.limit_us is not None:
        return format.duration(tier.limit_us)
    return "best effort" if tier.in_policy else "not in the policy"


def show_tiers(tiers: list[spans.Spread]) -> None:
    """Quantiles by tier."""
    frame.table(
        [
            {
                "Tier": tier.label,
                "Jobs": tier.count,
                "Still waiting or given up": tier.waiting,
            }
            | {f"p{p}": reached(tier, p) for p in spans.QUANTILES}
            | {
                "Longest": format.duration(tier.longest_us),
                "Limit": limit_of(tier),
                "Within": format.percent(tier.within) if tier.limit_us else "no limit",
            }
            for tier in tiers
        ]
    )


def show_reasons(seen: View, tier: str | None) -> None:
    """What waits were spent on."""
    rows = seen.published.ask(spans.reasons, seen.scope, seen.shown_us, seen.days)
    sums: dict[str, int] = {}
    for row in rows:
        if tier in (None, row["tier"]) and row["part"] in ("pending", "requeue"):
            name = "again" if row["part"] == "requeue" else row["reason"]
            sums[name] = sums.get(name, 0) + row["us"]
    names = REASON_LABELS | {"again": "Interrupted before its first step"}
    whole = sum(sums.values())
    color = THEMES[seen.theme].ink2
    spenders = [
        spend.Spender(name or "none", names.get(name, name), us, color)
        for name, us in sorted(sums.items(), key=lambda item: -item[1])
    ]
    if not spenders:
        st.caption("No time in the queue is on record.")
        return
    spent = spend.Spent(spenders, "us", whole, "of waiting")
    frame.show(spend.drawing(spent, seen.theme, "What jobs waited for"), key="reasons")
    frame.numbers(
        [
            {
                "Reason": s.label,
                "Job-hours": format.amount(s.amount, "us"),
                "Share": format.percent(Fraction(s.amount, whole)) if whole else format.UNKNOWN,
            }
            for s in spenders
        ],
        "Numbers: reasons",
    )


def show_waiting(seen: View) -> None:
    """A sentence for each job that waits now, the largest and oldest first."""
    rows = seen.published.ask(spans.waits, seen.scope, seen.shown_us, seen.days)
    waiting = [row for row in rows if row["censored"] and row["state"] == "pending"]
    waiting.sort(key=lambda row: (-(row["gpus"] or 0), -row["wait_us"]))
    frame.listed([_waits(row) for row in waiting[:20]], "Nobody waits now.")
    if len(waiting) > 20:
        st.caption(f"and {len(waiting) - 20} more")


def _waits(row: dict[str, Any]) -> str:
    gpus = f"{row['gpus']} GPUs" if row["gpus"] else "GPUs unknown"
    return (
        f"{address.job_link(row['job'])} ({row['tier']}, {gpus}, {format.plain(row['tenant'])})"
        f" has waited {format.duration(row['wait_us'])}."
    )


def sentence(tiers: list[spans.Spread], target: Fraction | None) -> str:
    """The share of each tier with a limit that started within it."""
    parts = [
        f"**{tier.label}** {format.percent(tier.within)} within {format.duration(tier.limit_us)}"
        for tier in tiers
        if tier.limit_us is not None
    ]
    aim = "" if target is None else f" (target {format.percent(target, 0)})"
    said = [f"{'; '.join(parts)}{aim}."] if parts else []
    if strange := [f"**{format.plain(tier.label)}**" for tier in tiers if not tier.in_policy]:
        said.append(f"The policy has no tier or alias {', '.join(strange)} (`tiers:`).")
    return " ".join(said) or "Every tier is best effort."


def show_curves(seen: View, tiers: list[spans.Spread], target: Fraction | None) -> None:
    """The distribution of each tier against its limit."""
    st.header("Waits, by tier", anchor=False)
    drawn = [
        curves.Curve(
            tier.label.capitalize(), curve(tier.spans), tier.censored_us, tier.limit_us, tier.within
        )
        for tier in tiers[:3]
    ]
    frame.show(
        curves.drawing(drawn, seen.theme, "Share of jobs started by time", target), key="waits"
    )
    st.caption(
        "Share whose first step completed by time from submission; held by its owner or waiting for"
        " a dependency is taken off. | still waiting, or given up."
    )
    show_tiers(tiers)


def choose_tier(tiers: list[spans.Spread]) -> spans.Spread:
    """The tier of the address, or that of the pill."""
    by_name = {tier.label: tier for tier in tiers}
    first = next(iter(by_name))
    wanted = address.get("tier")
    picked = st.segmented_control(
        "Tier",
        list(by_name),
        default=wanted if wanted in by_name else first,
        key="tier",
        label_visibility="collapsed",
        required=True,
    )
    address.put(tier=picked if picked != first else None)
    return by_name[picked or first]


def show_weeks_of(seen: View, tier: spans.Spread) -> None:
    """How long a tier waited, week by week."""
    rows = seen.published.ask(spans.waits, seen.scope, seen.shown_us, seen.days)
    waits = [
        (row["submitted_us"], Span(max(row["counted_us"], 0), row["censored"]))
        for row in rows
        if row["tier"] == tier.label
    ]
    show_weeks(seen, waits, tier.limit_us, f"Queue wait, {tier.label}")


def page() -> None:
    """The page."""
    seen = frame.view()
    target = seen.published.policy.target("queue_wait")
    tiers = seen.published.ask(spans.by_tier, seen.scope, seen.shown_us, seen.days)
    if not tiers:
        none = f"No queue waits in these {format.plural(seen.days, 'day')}"
        frame.head(seen, none, "No submission is on record.")
        frame.choose_window(seen)
        return
    frame.head(seen, title(tiers, target), sentence(tiers, target))
    frame.choose_window(seen)
    show_curves(seen, tiers, target)
    st.header("By week", anchor=False)
    tier = choose_tier(tiers)
    show_weeks_of(seen, tier)
    st.header(f"What {tier.label} jobs waited for", anchor=False)
    show_reasons(seen, tier.label)
    st.header("Waiting now", anchor=False)
    show_waiting(seen)


page()
