"""Budget and freeze: may it start now, what would it cost, when do we thaw?"""

from typing import Any

import streamlit as st

from answers.moments import moment_us
from app import address, budget_text, format, frame, markup, windows_text
from app.charts import budget, spend
from app.frame import View
from app.palette import THEMES, Badge, label
from app.views import cluster, home
from metrics.conventions import MINUTE_US
from metrics.rulings import Kind, Ruling

DRILL = ("category", "cause", "job", "node")


def permits(seen: View) -> None:
    """Which types of change may go now, and the gate's explanation."""
    found, answer = seen.published.permits(seen.scope, seen.as_of_us)
    said = []
    for permit in found:
        name = permit.change.replace("_", " ")
        if permit.decision == "allow":
            how = " by override" if permit.override else ""
            badge = Badge("check", f"{name}: yes{how}", "green")
        elif permit.decision == "deny":
            badge = Badge("ac_unit", f"{name}: held", "red")
        else:
            badge = Badge("question_mark", f"{name}: unknown, held", "gray")
        said.append(badge.markdown)
    st.markdown(" ".join(said))
    with frame.behind("Why, as the gate says it") as is_open:
        if is_open:
            st.markdown(format.plain(answer["explanation"]))
            for warning in answer["warnings"]:
                st.markdown(f"- {format.plain(warning)}")
            scope = ("--scope", str(seen.scope)) if str(seen.scope) != "fleet" else ()
            frame.shell("gate", "--change", found[0].change, *scope)


def show_line(seen: View, cards: list[home.Card], course: home.Course) -> None:
    """The 30 days that were and the 14 to come, of the objective that is chosen."""
    named = {card.key: budget_text.name_of(card) for card in cards if card.left is not None}
    if not named:
        st.caption("No budget has data in these 30 days.")
        return
    key = st.pills(
        "Objective",
        list(named),
        default=next(iter(named)),
        format_func=named.__getitem__,
        label_visibility="collapsed",
        required=True,
        key="line",
    )
    found = seen.published.ask(home.line, seen.scope, seen.shown_us, key)
    title = f"Budget left of {named[key]}, {frame.scope_label(str(seen.scope))}"
    drawn = budget.drawing(_line(seen, found, course, title), seen.theme)
    frame.show(drawn, key="budget-line")
    st.caption(
        "Shaded: frozen, by whichever objective. ▲ change let through ✕ held by the gate"
        " ◆ override. Dotted: nothing more is lost; dashed: at the burn of the last day; band: at"
        " those of 6 h and 30 d; rings: thaw."
    )
    frame.numbers(
        [
            {"Hour (UTC)": format.moment(us), "Left": format.percent(share)}
            for us, share in found.left[::-6]
        ],
        "Numbers: budget left",
    )


def _line(seen: View, found: home.Line, course: home.Course, title: str) -> budget.Line:
    """What is drawn: of stale data no forecast, and what was since is unknown."""
    unknown = list(course.unknown)
    if seen.is_stale:
        before = [span for span in unknown if span[1] <= seen.through_us]
        unknown = [*before, (seen.through_us, seen.as_of_us)]
    return budget.Line(
        found.left,
        course.frozen,
        unknown,
        _marks(seen, found.left[0][0] if found.left else seen.shown_us),
        () if seen.is_stale else found.nothing_lost,
        () if seen.is_stale else found.present_burn,
        () if seen.is_stale else found.band,
        float(seen.published.policy.thaw_remaining),
        seen.as_of_us,
        title,
    )


def _marks(seen: View, from_us: int) -> list[dict[str, Any]]:
    """Changes let through and held, and overrides, since a moment."""
    changes = seen.published.read(cluster.rollouts, from_us, seen.as_of_us)
    marks = [{"at_us": c["started_us"], "kind": "through", "what": c["what"]} for c in changes]
    for entry in seen.published.rulings.entries:
        if not from_us <= entry.at_us <= seen.as_of_us or not seen.scope.holds(entry.scope):
            continue
        change = str(entry.body.get("change", "")).replace("_", " ")
        if entry.kind is Kind.OVERRIDE:
            what = f"{change} by override of {entry.who}: {entry.why}"
            marks.append({"at_us": entry.at_us, "kind": "override", "what": what})
        elif entry.kind is Kind.REFUSAL:
            what = f"{change} on {entry.scope} held"
            marks.append({"at_us": entry.at_us, "kind": "held", "what": what})
    return marks


def show_spent(seen: View, cards: list[home.Card]) -> None:
    """What spent the goodput budget, down to the node."""
    goodput = next((card for card in cards if card.measure == "goodput"), None)
    if goodput is None or not goodput.total:
        st.caption("Goodput is unknown here: no large instrumented job ran in these 30 days.")
        return
    only = tuple((name, value) for name in DRILL if (value := address.get(name)) is not None)
    depth = next((n for n, name in enumerate(DRILL) if name not in dict(only)), len(DRILL) - 1)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("By category", anchor=False)
        _bars(seen, "category", (), dict(only).get("category"))
    with right:
        by = DRILL[max(depth, 1)] if only else "job"
        dims = ["cause", "job", "node", "tenant"]
        chosen = st.segmented_control(
            "Broken down by",
            dims,
            default=by if by in dims else "job",
            format_func=lambda name: f"by {name}",
            label_visibility="collapsed",
            key=f"by-{only}",
        )
        if only:
            path = " › ".join(label(name, value) for name, value in only)
            st.markdown(f"**{format.plain(path)}**")
        _bars(seen, chosen or by, only, None)
        if only and st.button("Back to all", icon=":material/undo:", type="tertiary"):
            address.put(**dict.fromkeys(DRILL))
            st.rerun()
    st.caption(
        "Solid: down or waiting. Hollow: work done again. Tick: the 30 days before, where known."
    )


def _bars(seen: View, by: str, only: tuple[tuple[str, str], ...], chosen: str | None) -> None:
    without = tuple(pair for pair in only if pair[0] != by)
    found = seen.published.ask(home.spent, seen.scope, seen.shown_us, by, without)
    if not found.rows:
        st.caption("Nothing was charged here in these 30 days.")
        return
    theme = THEMES[seen.theme]
    named = dict(only).get("category")
    color = theme.category(named) if named else theme.ink2
    spenders = [
        spend.Spender(
            name or "",
            label(by, name or ""),
            amount,
            theme.category(name) if by == "category" else color,
            again,
            before,
        )
        for name, amount, again, before in found.rows
    ]
    spent = spend.Spent(spenders, found.unit, found.allowed, "of budget", chosen)
    title = f"What spent the goodput budget of {frame.scope_label(str(seen.scope))}, by {by}"

    def pick(name: str) -> None:
        if by == "job" and only:
            st.session_state["open_job"] = name
        elif by in DRILL:
            address.put(**{by: None if address.get(by) == name else name})

    frame.show(spend.drawing(spent, seen.theme, title), key=f"spent-{by}-{only}", on_pick=pick)
    frame.numbers(budget_text.spent(by.capitalize(), spent), f"Numbers: by {by}")


def show_counts(seen: View, cards: list[home.Card]) -> None:
    """What spent the objectives that count events."""
    missed = [card for card in cards if card.measure != "goodput" and card.bad]
    for card in missed:
        by = "job" if card.measure in ("checkpoint_durability", "queue_wait") else "cause"
        found = seen.published.ask(home.spent_events, seen.scope, seen.shown_us, card.key, by)
        theme = THEMES[seen.theme]
        spenders = [
            spend.Spender(name, label(by, name), amount, theme.ink2, 0, before)
            for name, amount, _, before in found.rows
        ]
        whole, of = (found.allowed, "of budget") if found.allowed else (card.bad, "of all")
        said = f"{budget_text.name_of(card)}: {format.count(card.bad)} missed, by {by}"
        with frame.behind(said) as is_open:
            if is_open:
                spent = spend.Spent(spenders, "count", whole, of)
                title = f"What spent {budget_text.name_of(card)}, by {by}"
                frame.show(spend.drawing(spent, seen.theme, title), key=f"counts-{card.key}")


def show_preview(seen: View) -> None:
    """What a change of some nodes would cost, who would feel it, and cheaper hours."""
    known = seen.published.ask(home.nodes)
    if not known:
        st.caption("A preview needs nodes: no allocation on record names any.")
        return
    one, two, three = st.columns([2, 3, 1])
    change = one.selectbox(
        "Change", seen.published.policy.changes.known, format_func=lambda c: c.replace("_", " ")
    )
    nodes = two.multiselect("Nodes", known, default=known[:1], max_selections=200)
    minutes = int(three.number_input("Minutes away", min_value=1, value=45))
    if not nodes:
        st.caption("Choose the nodes that it takes.")
        return
    asked = (change, tuple(nodes), minutes * MINUTE_US, seen.shown_us)
    _show_cost(seen, seen.published.ask(home.preview, *asked))
    frame.shell(
        "preview", "--change", change, "--nodes", ",".join(nodes), "--minutes", str(minutes)
    )


def _show_cost(seen: View, found: dict[str, Any]) -> None:
    """What a change would cost: of the budget, of each job, and when it would cost least."""
    st.markdown(budget_text.cost(found))
    frame.table(
        [
            {
                "Job": row["job"],
                "GPUs": row["gpus"],
                "Would lose": format.duration(row["lost_us"]),
                "Its last restarts took": format.duration(row["restart_us"]),
                "Checkpoint interval": format.duration(row["checkpoint_interval_us"]),
            }
            for row in found["jobs"]
        ],
        "No job that runs now holds one of these nodes.",
    )
    hours = [moment_us(row["hour"]) for row in found["cheapest_hours"][:3]]
    if hours:
        st.markdown("Cheapest hours: " + ", ".join(format.moment(us, seen.zone) for us in hours))


def show_windows(seen: View) -> None:
    """Planned maintenance that is still to come."""
    rows = seen.published.read(cluster.planned, seen.as_of_us)
    frame.table(windows_text.rows(rows, seen.zone), "No planned window is on record after now.")


def show_record(seen: View) -> None:
    """What Headway decided on this scope, and what people ruled, newest first."""
    entries = [
        entry
        for entry in seen.published.rulings.entries
        if entry.at_us <= seen.as_of_us
        and (entry.kind is not Kind.DECISION or entry.scope == seen.scope)
    ][-12:]
    if not entries:
        st.caption("Nothing is on record yet: `headway journal` lists what is decided.")
        return
    frame.table(
        [
            {
                "What": entry.kind.value,
                "Why": entry.why,
                "State": _state(entry, seen),
                "Scope": str(entry.scope),
                "Who": entry.who,
                "At": format.moment(entry.at_us),
            }
            for entry in reversed(entries)
        ]
    )
    st.caption("A decision names the hour from which on it held; what was known then stays.")
    frame.shell("freeze", "history")


def _state(entry: Ruling, seen: View) -> str:
    if entry.kind is Kind.DECISION:
        return f"{entry.body['state']} from {format.moment(entry.body['hour_us'])}"
    if entry.kind is Kind.REFUSAL:
        return "held"
    return seen.published.rulings.status(entry, seen.as_of_us)


def page() -> None:
    """The page."""
    seen = frame.view()
    cards = seen.published.ask(home.cards, seen.scope, seen.shown_us)
    course = seen.published.ask(home.course, seen.scope, seen.as_of_us)
    _, answer = seen.published.permits(seen.scope, seen.as_of_us)
    said = str(answer["explanation"])
    frame.head(
        seen,
        budget_text.title(course, seen),
        budget_text.why(course, cards, seen, said),
        at_a_look=markup.cards(budget_text.shown(card, seen) for card in cards),
    )
    st.header("May it start now?", anchor=False)
    permits(seen)
    st.header("Budget left, last 30 days and forecast", anchor=False)
    show_line(seen, cards, course)
    st.header("What spent the goodput budget", anchor=False)
    show_spent(seen, cards)
    show_counts(seen, cards)
    st.header("Preview a change", anchor=False)
    show_preview(seen)
    st.header("Planned maintenance", anchor=False)
    show_windows(seen)
    st.header("Decision record", anchor=False)
    show_record(seen)
    st.caption(f"Judged at {format.moment(seen.as_of_us, seen.zone)}.")
    if name := st.session_state.pop("open_job", None):
        st.switch_page("app_pages/job.py", query_params=address.carried(job=name))


page()
