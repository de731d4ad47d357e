"""My job: its goodput, where the rest went, and whether that was the platform's doing."""

from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import address, format, frame, job_text, markup, waiting_text, windows_text, writing
from app.charts import intervals, life, phases, steps, waterfall
from app.charts.waterfall import Wall
from app.frame import View
from app.markup import Card
from app.palette import BY_ID, label
from app.views import cluster, jobs, planner, waiting
from metrics.budget import State
from metrics.conventions import HOUR_US

BREACHES = 5  # so many are told in words, newest first


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


def cards(seen: View, name: str, wall: Wall | None) -> list[Card]:
    """Goodput, both shares, and the job's own budget."""
    report = seen.then.ask(jobs.own_budget, name, seen.shown_us)
    own = job_text.budget_card(report, seen.published.policy.classes, seen.is_stale)
    return [*(job_text.share_cards(wall) if wall is not None else []), own]


def show_wall(seen: View, name: str, wall: Wall) -> None:
    """The waterfall, and the exact ledger behind it."""
    st.header(f"Where {format.duration(wall.wall_us)} went", anchor=False)
    if wall.gap_us:

        def pick(category: str) -> None:
            address.put(category=None if address.get("category") == category else category)

        frame.show(waterfall.drawing(wall, seen.theme, name), key="waterfall", on_pick=pick)
    else:
        st.markdown("Nothing was lost: all of its wall-clock is useful step time.")
    frame.numbers(job_text.ledger(wall), "Numbers: the ledger")
    if not seen.is_past:  # no command tells of a moment of the past
        frame.shell("job", name)


def show_budget(seen: View, name: str) -> None:
    """What spent the job's own budget."""
    report = seen.then.ask(jobs.own_budget, name, seen.shown_us)
    if report is None or report.state is State.UNKNOWN:
        return
    spending = seen.then.ask(_spending, name, seen.shown_us)
    st.header("What spent its own budget, in 30 days", anchor=False)
    st.markdown(job_text.spent(report))
    frame.table(job_text.spenders(report, spending))


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
    st.caption(_key(found))
    frame.numbers(job_text.attempts(seen.then.read(jobs.attempts, name)), "Numbers: attempts")


def _key(found: life.Life) -> str:
    """What the marks of the timeline mean."""
    if len(found.restarts) > life.MOST_RESTARTS:
        return f"{len(found.restarts)} restarts: too many to number here, listed below."
    if not found.is_instrumented:
        return "Hollow: it ran, and no step record says what it did."
    return (
        "Blue: steps. In it, what stopped them, by colour. ▼ restarts, numbered: a click opens one"
        " below. Hollow: work that was done again, as long as it took; planned windows."
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
    _show_restart(seen, name, _choose_restart(found))
    frame.numbers(job_text.restarts(found), "Numbers: all restarts")


def _choose_restart(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The restart of the address, else the longest; another can be chosen."""
    number = address.number("restart")
    if number is None or not 1 <= number <= len(found):
        number = max(found, key=lambda row: row["age_us"])["number"]
    st.session_state["restart"] = number

    def chosen() -> None:
        address.put(restart=str(st.session_state["restart"]))

    def said(n: int) -> str:
        cause, age_us = (found[n - 1][name] for name in ("cause", "age_us"))
        return f"{n} of {len(found)} · {label('cause', cause)} · {format.duration(age_us)}"

    st.selectbox(
        "Restart", range(1, len(found) + 1), format_func=said, key="restart", on_change=chosen
    )
    return found[number - 1]


def _show_restart(seen: View, name: str, row: dict[str, Any]) -> None:
    """One restart close."""
    limit_us = seen.published.policy.restart_limit_us
    st.markdown(job_text.restart(row, limit_us, seen.zone))
    drawn = phases.Restart("", row["components"], row["age_us"], row["outcome"], row["again_us"])
    title = f"Restart {row['number']} of {name}"
    frame.show(phases.zoomed(drawn, seen.theme, limit_us, title), key="restart-zoom")
    with frame.behind("It had another cause? Re-attribute it") as is_open:
        if is_open:
            writing.reattribute_form(name, row["detected_us"])
        else:
            writing.keep_reattribution()


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
        frame.numbers(job_text.stragglers(rows), "Numbers: stragglers")


def show_wait(seen: View, name: str, tier: str | None) -> None:
    """The queue story."""
    st.header("How it came to run", anchor=False)
    found = seen.then.read(jobs.wait, name)
    if found is None:
        st.caption("Unknown: no job_submitted is on record.")
        return
    known = seen.published.policy.tier(tier) if tier else None
    st.markdown(job_text.waited(found, tier, known.queue_limit_us if known else None))
    frame.table(job_text.turns(found))


def show_contracts(seen: View, name: str) -> None:
    """Why it waits at this moment, and the contracts that were broken to it."""
    present, broken = seen.then.ask(waiting.of_job, name)
    if present is not None:
        now, outlook = present["now"], waiting_text.outlook(present)
        st.markdown(f"**{format.plain(format.capital(now))}.** {format.capital(outlook)}.")
    if not broken:
        return
    st.header(f"Contracts that were broken ({len(broken)})", anchor=False)
    newest = broken[: -BREACHES - 1 : -1]
    frame.listed([format.plain(waiting_text.breach(row)) for row in newest], "None.")
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
    by_number = {row["attempt"]: row for row in found}
    frame.table(job_text.two_attempts(by_number[left], by_number[right]))


def _attempt(place: DeltaGenerator, label: str, key: str, numbers: list[int], usual: int) -> int:
    """The attempt of the address; another can be chosen."""
    wanted = address.number(key)
    shown = wanted if wanted in numbers else usual
    st.session_state[key] = shown

    def chosen() -> None:
        address.put(**{key: str(st.session_state[key])})

    place.selectbox(label, numbers, key=key, on_change=chosen)
    return shown


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
    frame.table(job_text.holes(found))


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
    other = _choose_other(seen, name)
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
    frame.table(job_text.two_jobs(name, wall, other, theirs))


def _choose_other(seen: View, name: str) -> str | None:
    """The other job of the address; another can be chosen."""
    options = [job.job for job in seen.then.read(jobs.search, "") if job.job != name]
    present = address.get("vs")
    if present and present not in options:
        options = [present, *options]
    st.session_state["vs"] = present

    def chosen() -> None:
        address.put(vs=st.session_state["vs"])

    return st.selectbox(
        "Other job", options, index=None, key="vs", placeholder="Choose a job", on_change=chosen
    )


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
    title, sentence = job_text.verdict(facts, wall)
    is_ahead = facts["state"] == "pending"
    frame.head(
        seen,
        title,
        f"{job_text.attributes(name, facts)}\n\n{sentence}",
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
