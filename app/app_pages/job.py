"""My job: its goodput, where the rest went, and whether that was the platform's doing."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import address, format, frame, markup, waiting_text, windows_text, writing
from app.charts import intervals, life, phases, steps, waterfall
from app.charts.waterfall import Wall
from app.frame import View
from app.markup import Card
from app.palette import (
    BY_ID,
    CAUSE_LABELS,
    COMPONENT_LABELS,
    PHASE_LABELS,
    PHASES,
    REASON_LABELS,
    STATE_BADGES,
)
from app.views import cluster, jobs, planner, waiting
from metrics.budget import State
from metrics.conventions import HOUR_US

BREACHES = 5  # so many are told in words, newest first

ADVICE = {
    "not instrumented": "Record a step record for each step (job, attempt, step, ts, duration_s).",
    "GPUs unknown": "Name `gpus` in job_submitted or resources_allocated.",
    "silent": "Record job_ended, or keep recording steps.",
    "clipped overlaps": "Record ts as the end of the step, and one attempt at a time.",
    "over-reported components": "data_wait_s, straggler_s, checkpoint_s and overhead_s are parts of"
    " duration_s: they may not exceed it.",
    "steps after an interruption": "Give the restarted process a new attempt number.",
    "step numbers jump": "Record every step, or one record with `steps` = n for n of them.",
    "resume contradicts checkpoint_loaded": "Let checkpoint_loaded name the last step that the"
    " checkpoint contains.",
    "attempt allocated twice": "Export all runs of a job at once.",
    "started before it was submitted": "Record job_submitted when the job enters the queue.",
}


def choose(seen: View, present: str | None) -> None:
    """The search over id, name, tenant and state."""
    found = seen.then.read(jobs.search, "")
    said = {job.job: job.said for job in found}
    if present and present not in said:
        said = {present: present} | said
    options = list(said)
    st.session_state["find"] = present

    def chosen() -> None:
        value = st.session_state["find"]
        address.put(job=value, restart=None, attempt=None, beside=None, category=None)

    st.selectbox(
        "Job",
        options,
        format_func=lambda job: said.get(job, job),
        index=None,
        key="find",
        placeholder="Find a job by id, name, tenant or state",
        on_change=chosen,
        accept_new_options=True,
    )


def no_job(seen: View, name: str) -> None:
    """An unknown job: the closest names, each a link."""
    _, close = seen.then.read(jobs.closest, name)
    more = [job.job for job in seen.then.read(jobs.search, name)][:5]
    names = list(dict.fromkeys([*close, *more]))
    links = ", ".join(address.job_link(n) for n in names)
    said = "No name is close to it; the search above lists all."
    frame.head(
        seen,
        f"No job ‘{format.plain(name)}’",
        f"Closest: {links}." if names else said,
        with_scope=False,
    )


def not_yet(seen: View, name: str) -> None:
    """A job that came on record only after the moment of the page."""
    now = address.link("job", job=name, as_of=None)
    frame.head(
        seen,
        f"‘{format.plain(name)}’ was not on record yet",
        f"Its first record is later than this page’s moment: [its page as of now]({now}).",
        with_scope=False,
    )


def verdict(facts: dict[str, Any], wall: Wall | None) -> tuple[str, str]:
    """Title and sentence: the answer in a few words."""
    if facts["state"] == "pending":
        return "It has not run yet", "It waits in the queue: why, and what to expect, is below."
    if wall is None and not facts["instrumented"]:
        return "Goodput unknown: no step records", (
            "Record a step record for each step and the next refresh knows where its time went."
        )
    if wall is None:
        return (
            "It has not run yet",
            "It has no wall-clock: nothing was allocated, no step recorded.",
        )
    goodput = format.percent(Fraction(wall.useful_us, wall.wall_us))
    target = 1 - wall.allowed
    platform = format.percent(Fraction(wall.share_of("platform"), wall.wall_us))
    own = format.percent(Fraction(wall.share_of("job"), wall.wall_us))
    title = f"{goodput} of {format.percent(target, 0)} useful"
    ours = wall.share_of("platform") > wall.allowed * wall.wall_us
    blame = (
        "The platform took more than its allowance."
        if ours
        else "The platform stayed within its allowance."
    )
    nobody = wall.share_of("nobody")
    lent = (
        f", **{format.percent(Fraction(nobody, wall.wall_us))}** is nobody’s (its capacity is a"
        " loan)"
        if nobody
        else ""
    )
    return title, (
        f"**{platform}** of its wall-clock went to the platform’s account, **{own}** to its own"
        f" code{lent}. {blame}"
    )


def attributes(name: str, facts: dict[str, Any]) -> str:
    """Which job it is, in a line."""
    known = [
        f"**{format.plain(name)}**",
        format.plain(facts["name"]) if facts["name"] not in (None, name) else None,
        facts["state"],
        format.plural(facts["gpus"], "GPU") if facts["gpus"] else "GPUs unknown",
        facts["tier"] or "no tier",
        f"tenant {format.plain(facts['tenant'])}" if facts["tenant"] else None,
    ]
    return " · ".join(part for part in known if part)


def cards(seen: View, name: str, wall: Wall | None) -> list[Card]:
    """Goodput, both shares, and the job's own budget."""
    return [*(_shares(wall) if wall is not None else []), _budget_card(seen, name)]


def _shares(wall: Wall) -> list[Card]:
    shares = (
        (f"Goodput, target {format.percent(1 - wall.allowed, 0)}", wall.useful_us),
        ("Platform’s share", wall.share_of("platform")),
        ("Job’s share", wall.share_of("job")),
    )
    whole = format.duration(wall.wall_us)
    return [
        Card(
            label,
            format.percent(Fraction(us, wall.wall_us)),
            f"{format.duration(us)} of {whole}",
        )
        for label, us in shares
    ]


def _budget_card(seen: View, name: str) -> Card:
    report = seen.then.ask(jobs.own_budget, name, seen.shown_us)
    if report is None:
        classes = seen.published.policy.classes
        why = (
            f"Only large jobs have one: at least {classes.large_gpus} GPUs for"
            f" {format.duration(classes.large_duration_us)}, under this policy."
        )
        return Card("Its own budget", "Unknown", why)
    if report.state is State.UNKNOWN:
        why = "It has no instrumented wall-clock in these 30 days."
        return Card("Its own budget", "Unknown", why)
    budget = report.budget
    state = State.UNKNOWN if seen.is_stale else report.state
    return Card(
        f"Budget left of {format.amount(budget.allowed, 'us')}",
        format.amount(budget.remaining, "us"),
        badges=[STATE_BADGES[state]],
    )


def show_wall(seen: View, name: str, wall: Wall) -> None:
    """The waterfall, and the exact ledger behind it."""
    st.header(f"Where {format.duration(wall.wall_us)} went", anchor=False)
    if wall.gap_us:

        def pick(category: str) -> None:
            address.put(category=None if address.get("category") == category else category)

        frame.show(waterfall.drawing(wall, seen.theme, name), key="waterfall", on_pick=pick)
    else:
        st.markdown("Nothing was lost: all of its wall-clock is useful step time.")
    rows = [
        {
            "What": BY_ID[loss.category].label,
            "Charged to": loss.charge,
            "Time": format.duration(loss.us),
            "Of wall-clock": format.percent(Fraction(loss.us, wall.wall_us)),
            "Work done again": format.duration(loss.again_us),
            "Exact, µs": loss.us,
        }
        for loss in wall.losses
    ]
    rows.append(
        {
            "What": "Lost in all",
            "Charged to": "",
            "Time": format.duration(wall.gap_us),
            "Of wall-clock": format.percent(Fraction(wall.gap_us, wall.wall_us)),
            "Work done again": format.duration(sum(loss.again_us for loss in wall.losses)),
            "Exact, µs": wall.gap_us,
        }
    )
    frame.numbers(rows, "Numbers: the ledger")
    if not seen.is_past:  # no command tells of a moment of the past
        frame.shell("job", name)


def show_budget(seen: View, name: str) -> None:
    """What spent the job's own budget."""
    report = seen.then.ask(jobs.own_budget, name, seen.shown_us)
    if report is None or report.state is State.UNKNOWN:
        return
    budget = report.budget
    spending = seen.then.ask(_spending, name, seen.shown_us)
    st.header("What spent its own budget, in 30 days", anchor=False)
    st.markdown(
        f"{format.amount(budget.amount.bad, 'us')} of {format.amount(budget.allowed, 'us')}"
        f" allowed ({format.percent(1 - report.series.target, 0)} of its"
        f" {format.amount(budget.amount.total, 'us')} in the window)."
    )
    rows = [
        {
            "Category": BY_ID[name_].label,
            "Spent": format.amount(us, "us"),
            "Of its budget": format.percent(Fraction(us, budget.allowed))
            if budget.allowed
            else format.UNKNOWN,
        }
        for name_, us in spending.items()
    ]
    frame.table(rows)


def _spending(facts: Any, name: str, as_of_us: int) -> dict[str, int]:
    report = jobs.own_budget(facts, name, as_of_us)
    return report.spending()["category"] if report else {}


def show_life(seen: View, name: str, planned: list[dict[str, Any]]) -> None:
    """The timeline."""
    spans = tuple(
        (row["starts_us"], row["ends_us"] or row["starts_us"] + HOUR_US, row["id"])
        for row in planned
    )
    found = seen.then.read(jobs.life, name, seen.told_us, spans, seen.days_asked)
    if found is None:
        return
    st.header("Life of the job", anchor=False)
    frame.choose_window(seen, whole="Whole life")
    found = replace(_only(found), is_past=seen.is_past)

    def pick(number: str) -> None:
        address.put(restart=number)

    frame.show(life.drawing(found, seen.theme), key="life", on_pick=pick)
    if len(found.restarts) > life.MOST_RESTARTS:
        st.caption(f"{len(found.restarts)} restarts: too many to number here, listed below.")
    elif not found.is_instrumented:
        st.caption("Hollow: it ran, and no step record says what it did.")
    else:
        st.caption(
            "Blue: steps. In it, what stopped them, by colour. ▼ restarts, numbered: a click opens"
            " one below. Hollow: work that was done again, as long as it took; planned windows."
        )
    frame.numbers(
        [
            {
                "Attempt": row["attempt"],
                "Allocated": format.moment(row["allocated_us"]),
                "First step": format.moment(row["first_step_us"]),
                "Last step": format.moment(row["last_step_us"]),
                "Interrupted": format.moment(row["interrupted_us"])
                if row["interrupted_us"]
                else "no",
                "Steps": "unknown" if row["steps"] is None else format.count(row["steps"]),
                "Nodes": row["nodes"],
            }
            for row in seen.then.read(jobs.attempts, name)
        ],
        "Numbers: attempts",
    )


def _only(found: life.Life) -> life.Life:
    """The life with the chosen category alone: the one of the address, by click or by pill."""
    present = [
        category.id
        for category in BY_ID.values()
        if any(row[1] == category.id for row in found.bins)
    ]
    chosen = address.get("category")
    st.session_state["only"] = chosen if chosen in present else None

    def picked() -> None:
        address.put(category=st.session_state["only"])

    only = st.pills(
        "Only",
        present,
        format_func=lambda name: BY_ID[name].label,
        key="only",
        on_change=picked,
        label_visibility="collapsed",
    )
    return found if only is None else life.only(found, only)


def show_restarts(seen: View, name: str) -> None:
    """Each restart with its phases, and one of them close."""
    found = seen.then.read(jobs.restarts, name)
    st.header(f"Restarts ({len(found)})", anchor=False)
    if not found:
        st.caption("No restarts: nothing interrupted it.")
        return
    limit_us = seen.published.policy.restart_limit_us
    number = address.number("restart")
    if number is None or not 1 <= number <= len(found):
        number = max(found, key=lambda row: row["age_us"])["number"]
    st.session_state["restart"] = number

    def chosen() -> None:
        address.put(restart=str(st.session_state["restart"]))

    def said(n: int) -> str:
        row = found[n - 1]
        cause = CAUSE_LABELS.get(row["cause"], row["cause"])
        return f"{n} of {len(found)} · {cause} · {format.duration(row['age_us'])}"

    st.selectbox(
        "Restart", range(1, len(found) + 1), format_func=said, key="restart", on_change=chosen
    )
    row = found[number - 1]
    over_us = row["age_us"] - limit_us
    judged = f"{format.duration(over_us)} over" if over_us >= 0 else "within the limit"
    node = f" on node {format.plain(row['node'])}" if row["node"] else ""
    lost = f"; {format.plural(row['lost_steps'], 'step')} done again" if row["lost_steps"] else ""
    st.markdown(
        f"Detected {format.moment(row['detected_us'], seen.zone)}{node}: time to restart"
        f" **{format.duration(row['age_us'])}** ({row['outcome']}), {judged}{lost}."
    )
    drawn = phases.Restart("", row["components"], row["age_us"], row["outcome"], row["again_us"])
    title = f"Restart {number} of {name}"
    frame.show(phases.zoomed(drawn, seen.theme, limit_us, title), key="restart-zoom")
    with frame.behind("It had another cause? Re-attribute it") as is_open:
        if is_open:
            writing.reattribute_form(name, row["detected_us"])
    frame.numbers(
        [
            {
                "Restart": r["number"],
                "Detected": format.moment(r["detected_us"]),
                "Cause": CAUSE_LABELS.get(r["cause"], r["cause"]),
                "Node": r["node"] or "not named",
                "To restart": format.duration(r["age_us"]),
                "Outcome": r["outcome"],
            }
            | {PHASE_LABELS[phase]: format.duration(r["components"][phase]) for phase in PHASES}
            | {"Work done again": format.duration(r["again_us"])}
            for r in found
        ],
        "Numbers: all restarts",
    )


def show_steps(seen: View, name: str) -> None:
    """Step times, stragglers, slow steps."""
    bins, typical_us = seen.then.read(jobs.steps, name)
    st.header("Step times", anchor=False)
    if not bins:
        st.caption("Unknown: it has no step records.")
        return
    frame.show(steps.drawing(bins, typical_us, seen.theme, name), key="steps")
    slow = seen.then.read(jobs.slow_us, name)
    st.caption(
        f"Line: median. Band: p10 to p90. ▲ the longest steps of more than twice the median. Below:"
        f" waiting for stragglers. Slow steps took {format.duration(slow)} beyond their baseline."
    )
    rows = seen.then.read(jobs.stragglers, name)
    if rows:
        frame.numbers(
            [
                {
                    "Node": r["node"],
                    "Waited for it": format.duration(r["us"]),
                    "In hours": r["hours"],
                }
                for r in rows
            ],
            "Numbers: stragglers",
        )


def show_wait(seen: View, name: str, tier: str | None) -> None:
    """The queue story."""
    st.header("How it came to run", anchor=False)
    found = seen.then.read(jobs.wait, name)
    if found is None:
        st.caption("Unknown: no job_submitted is on record.")
        return
    known = seen.published.policy.tier(tier) if tier else None
    limit_us = known.queue_limit_us if known else None
    limit = "best effort" if limit_us is None else f"limit {format.duration(limit_us)}"
    state = "is still waiting after" if found.censored else "waited"
    st.markdown(f"It {state} **{format.duration(found.wait_us)}** ({tier or 'no tier'}, {limit}).")
    part_names = {"pending": "Waiting", "requeue": "Interrupted, waiting again"} | COMPONENT_LABELS
    frame.table(
        [
            {
                "From": format.moment(turn["start_us"]),
                "What": part_names.get(turn["part"], turn["part"])
                if turn["part"] != "pending"
                else f"Waiting: {REASON_LABELS.get(turn['reason'], turn['reason']).lower()}",
                "For": format.duration(turn["end_us"] - turn["start_us"]),
            }
            | ({"Detail": turn["detail"] or ""} if any(t["detail"] for t in found.turns) else {})
            for turn in found.turns
        ]
    )


def show_contracts(seen: View, name: str) -> None:
    """Why it waits at this moment, and the contracts that were broken to it."""
    present, broken = seen.then.ask(waiting.of_job, name)
    if present is not None:
        now, outlook = present["now"], waiting_text.outlook(present)
        st.markdown(f"**{format.plain(format.capital(now))}.** {format.capital(outlook)}.")
    if not broken:
        return
    st.header(f"Contracts that were broken ({len(broken)})", anchor=False)
    for row in broken[: -BREACHES - 1 : -1]:
        st.markdown(f"- {format.plain(waiting_text.breach(row))}")
    if len(broken) > BREACHES:
        frame.numbers(waiting_text.breaches(broken, 100), "Numbers: all broken contracts")


def show_attempts(seen: View, name: str) -> None:
    """Two attempts side by side."""
    found = seen.then.read(jobs.attempts, name)
    if len(found) < 2:
        return
    st.header("Two attempts side by side", anchor=False)
    numbers = [row["attempt"] for row in found]
    one, two = st.columns(2)
    left = _attempt(one, "Attempt", "attempt", numbers, numbers[-2])
    right = _attempt(two, "Beside attempt", "beside", numbers, numbers[-1])
    pair = [next(row for row in found if row["attempt"] == number) for number in (left, right)]
    columns = [f"Attempt {left}", f"Attempt {right} "]
    frame.table(
        [
            {"": what} | dict(zip(columns, map(say, pair), strict=True))
            for what, say in _ATTEMPT_FACTS.items()
        ]
    )


def _attempt(place: DeltaGenerator, label: str, key: str, numbers: list[int], usual: int) -> int:
    """The attempt of the address; another can be chosen."""
    wanted = address.number(key)
    shown = wanted if wanted in numbers else usual
    st.session_state[key] = shown

    def chosen() -> None:
        address.put(**{key: str(st.session_state[key])})

    place.selectbox(label, numbers, key=key, on_change=chosen)
    return shown


def _until_first_step(row: dict[str, Any]) -> str:
    if row["allocated_us"] is None or row["first_step_us"] is None:
        return format.UNKNOWN
    return format.duration(row["first_step_us"] - row["allocated_us"])


_ATTEMPT_FACTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "Allocated": lambda row: format.moment(row["allocated_us"]),
    "Until its first step": _until_first_step,
    "Steps": lambda row: format.UNKNOWN if row["steps"] is None else format.count(row["steps"]),
    "Median step": lambda row: format.duration(row["median_us"]),
    "Last step": lambda row: format.moment(row["last_step_us"]),
    "Interrupted": lambda row: (
        format.moment(row["interrupted_us"]) if row["interrupted_us"] else "no"
    ),
    "Nodes": lambda row: str(row["nodes"] or format.UNKNOWN),
}


def show_planner(seen: View, name: str) -> None:
    """How often to save: the advice, its curve and its arithmetic."""
    st.header("How often to save a checkpoint", anchor=False)
    _show_plan(seen, name)
    if not seen.is_past:
        frame.shell("plan-checkpoint", "--job", name)


def _show_plan(seen: View, name: str) -> None:
    found = seen.then.ask(planner.plan, name)
    if isinstance(found, str):
        st.caption(f"Unknown: {format.plain(found.removeprefix(f'--job {name}: '))}.")
        return
    st.markdown(format.plain(found.answer["advice"]))
    frame.show(intervals.drawing(found.choice, seen.theme, name), key="planner")
    st.caption(
        "Share of the wall-clock that is lost. ◆ advised, ○ in force. Tinted: intervals as good as"
        " the advised one. Dashed: all that the target of goodput leaves to lose."
    )
    with frame.behind("Numbers: arithmetic, constraints, assumptions") as is_open:
        if is_open:
            show_arithmetic(found.answer)


def show_arithmetic(answer: dict[str, Any]) -> None:
    """How the advice came about."""
    frame.table([{"Arithmetic": line} for line in answer["arithmetic"]])
    holds = {True: "yes", False: "no", None: format.UNKNOWN}
    frame.table(
        [
            {"Constraint": row["name"], "Holds": holds[row["holds"]], "Why": row["detail"]}
            for row in answer["constraints"]
        ]
    )
    frame.table([{"Assumption": text} for text in answer["assumptions"]])


def show_windows(seen: View, planned: list[dict[str, Any]]) -> None:
    """Planned maintenance that will touch it."""
    st.header("Planned maintenance that will touch it", anchor=False)
    frame.table(windows_text.rows(planned, seen.zone), "None is announced.")


def show_holes(seen: View, name: str) -> None:
    """What the records lack, and what to record."""
    found = seen.published.read(jobs.holes, name)
    st.header("Holes in its records", anchor=False)
    frame.told_of_newest(seen, "Holes are told")
    if not found:
        st.caption("None: its records are complete and agree.")
        return
    frame.table(
        [
            {
                "What": row["finding"],
                "In words, and what to record": _hole(row),
                "Attempt": "all" if row["attempt"] is None else str(row["attempt"]),
                "How often": row["count"],
            }
            for row in found
        ]
    )


def _hole(row: dict[str, Any]) -> str:
    advice = ADVICE.get(row["finding"])
    said = format.capital(row["detail"])
    return f"{said}. {advice}".replace("`", "") if advice else f"{said}."


def show_ahead(seen: View, name: str, facts: dict[str, Any], planned: list[dict[str, Any]]) -> None:
    """Of a job that has not run: why it waits, and what is ahead of it."""
    show_wait(seen, name, facts["tier"])
    show_contracts(seen, name)
    show_windows(seen, planned)
    show_planner(seen, name)
    show_holes(seen, name)


def show_beside(seen: View, name: str, wall: Wall | None) -> None:
    """Two jobs side by side, by category."""
    st.header("Beside another job", anchor=False)
    options = [job.job for job in seen.then.read(jobs.search, "") if job.job != name]
    present = address.get("vs")
    if present and present not in options:
        options = [present, *options]
    st.session_state["vs"] = present

    def chosen() -> None:
        address.put(vs=st.session_state["vs"])

    other = st.selectbox(
        "Other job", options, index=None, key="vs", placeholder="Choose a job", on_change=chosen
    )
    if not other:
        return
    seen.published.read(jobs.must_exist, other)
    if seen.then.read(jobs.closest, other)[0]:
        st.caption(f"{format.plain(other)} was not on record yet at this page’s moment.")
        return
    theirs = seen.then.ask(jobs.wall, other)
    if wall is None or theirs is None:
        st.caption("One of them has no known goodput: there is nothing to set side by side.")
        return
    rows = [_beside("Useful steps", wall.useful_us, wall, theirs.useful_us, theirs, name, other)]
    for category in BY_ID.values():
        ours = sum(loss.us for loss in wall.losses if loss.category == category.id)
        its = sum(loss.us for loss in theirs.losses if loss.category == category.id)
        if ours or its:
            rows.append(_beside(category.label, ours, wall, its, theirs, name, other))
    frame.table(rows)


def _beside(
    what: str, ours: int, wall: Wall, its: int, theirs: Wall, name: str, other: str
) -> dict[str, str]:
    mine, yours = Fraction(ours, wall.wall_us), Fraction(its, theirs.wall_us)
    points = float(mine - yours) * 100
    return {
        "Of wall-clock": what,
        name: f"{format.percent(mine)} ({format.duration(ours)})",
        other: f"{format.percent(yours)} ({format.duration(its)})",
        "Difference": f"{points:+.1f} points".replace("-", "−"),
    }


def page() -> None:
    """The page."""
    seen = frame.view()
    name = address.get("job")
    search = st.container()
    if name and not seen.then.read(jobs.closest, name)[0]:
        show_job(seen, name, search)
        return
    if name and not seen.published.read(jobs.closest, name)[0]:
        not_yet(seen, name)
    elif name:
        no_job(seen, name)
    else:
        frame.head(
            seen,
            "Which job?",
            "Type an id, a name, a tenant or a state (running, completed, …) above.",
            with_scope=False,
        )
    with search:
        choose(seen, name)


def show_job(seen: View, name: str, search: DeltaGenerator) -> None:
    """One job from its verdict down; the search above is filled once the verdict is sent."""
    facts = seen.then.read(jobs.facts_of, name)
    wall = seen.then.ask(jobs.wall, name)
    title, sentence = verdict(facts, wall)
    is_ahead = facts["state"] == "pending"
    frame.head(
        seen,
        title,
        f"{attributes(name, facts)}\n\n{sentence}",
        with_scope=False,
        at_a_look="" if is_ahead else markup.cards(cards(seen, name, wall)),
    )
    frame.told_of_then(seen)
    with search:
        choose(seen, name)
    planned = seen.then.read(cluster.planned, seen.shown_us, name)
    is_open = facts["state"] not in jobs.ENDED
    planned = planned if is_open else []
    if is_ahead:
        show_ahead(seen, name, facts, planned)
        return
    if wall is not None:
        show_wall(seen, name, wall)
    show_life(seen, name, planned)
    show_restarts(seen, name)
    show_budget(seen, name)
    show_steps(seen, name)
    show_wait(seen, name, facts["tier"])
    show_contracts(seen, name)
    show_windows(seen, planned)
    show_planner(seen, name)
    show_holes(seen, name)
    show_beside(seen, name, wall)
    show_attempts(seen, name)


page()
