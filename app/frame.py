"""What every page has: its moment and scope, head and states, its charts with their numbers."""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import pyarrow as pa
import streamlit as st

from answers.budgets import Moment, check_scope
from answers.clock import now_us
from answers.facts import Facts
from answers.moments import moment_us
from app import address, format, markup, store
from app.charts.base import Drawing
from app.views import health
from metrics.budget import window_end_us
from metrics.conventions import US_PER_S
from metrics.errors import HeadwayError, NothingPublished, UsageError
from metrics.scope import Scope

LOOKS_EVERY_S = 15
"""How often an open page looks whether something newer was published."""

GRAIN_US = 300 * US_PER_S
"""Now, for what is remembered: numbers of one moment serve five minutes of views."""


WINDOWS = (1, 7, 14, 30)
"""Over how many days back a page can look; budgets have 30 always."""

HEAD_START_S = 0.1
"""By so much a head is sent before the rest of its page: what a browser needs to draw it."""

CHART_START_S = 0.3
"""By so much the first chart is sent before what lies below it: what a browser needs to load what
draws charts, and draw it. Charts that are there by then are all drawn before any is seen."""


@dataclass(frozen=True)
class View:
    """A page's view: what is published, of whom, at which moment (µs), in which theme."""

    published: store.Snapshot
    scope: Scope
    as_of_us: int
    through_us: int
    is_pinned: bool
    is_stale: bool
    theme: str
    zone: str | None
    days_asked: int | None = None
    """Over how many days back the address wants a page to look."""

    @property
    def days(self) -> int:
        """Over how many days back a page lists what happened."""
        return self.days_asked or max(WINDOWS)

    @property
    def shown_us(self) -> int:
        """The moment whose numbers are shown: of stale data the last one known."""
        return min(self.as_of_us, self.through_us) if self.is_stale else self.as_of_us

    @property
    def until_us(self) -> int:
        """The end of the hour of that moment: up to there budgets count, and `then` tells."""
        return window_end_us(self.shown_us)

    @cached_property
    def then(self) -> store.Snapshot:
        """What is published as it stood at that moment; held as long as the page is drawn."""
        return self.published.at(self.until_us)

    @property
    def is_past(self) -> bool:
        """Whether something of what is published came later than that moment."""
        return self.then is not self.published

    @property
    def told_us(self) -> int:
        """The moment up to which `then` tells."""
        return self.until_us if self.is_past else self.shown_us

    @property
    def age_us(self) -> int:
        """How old the newest record is at the moment judged."""
        return max(0, self.as_of_us - self.through_us)


def theme() -> str:
    """light or dark, as the browser shows it."""
    return "dark" if st.context.theme.type == "dark" else "light"


def zone() -> str | None:
    """The reader's time zone, where the browser says it."""
    found = st.context.timezone
    return found if isinstance(found, str) else None


def view() -> View:
    """What the address and the store say. Stops the page where there is nothing to show."""
    try:
        published = store.snapshot()
    except NothingPublished:
        _empty()
        st.stop()
    if published.meta.as_of_us is None:
        _empty(published.read(health.quarantined))
        st.stop()
    scope = Scope.parse(address.get("scope") or "fleet")
    published.ask(_known, scope)
    pinned_us = _pinned()
    as_of_us = present_us() if pinned_us is None else pinned_us
    through_us = min(published.meta.as_of_us, as_of_us)
    is_stale = as_of_us - through_us > published.policy.stale_after_us
    _watch(published, pinned_us is not None)
    return View(
        published,
        scope,
        as_of_us,
        through_us,
        pinned_us is not None,
        is_stale,
        theme(),
        zone(),
        _days_asked(),
    )


def present_us() -> int:
    """The moment judged where the address pins none."""
    return -(-now_us() // GRAIN_US) * GRAIN_US


def _known(facts: Facts, scope: Scope) -> None:
    check_scope(facts, scope)


def _pinned() -> int | None:
    text = address.get("as_of")
    return None if text is None else moment_us(text, "as_of")


def _days_asked() -> int | None:
    text = address.get("window")
    if text is None:
        return None
    days = {f"{days}d": days for days in WINDOWS}.get(text)
    if days is None:
        raise UsageError(f"window={text}: say {', '.join(f'{days}d' for days in WINDOWS)}")
    return days


def choose_window(seen: View, whole: str | None = None) -> None:
    """Pills for how far back the page looks, kept in the address; `whole` names no limit."""
    said = ({0: whole} if whole else {}) | {days: f"{days} d" for days in WINDOWS}
    usual = 0 if whole else max(WINDOWS)
    st.session_state["window"] = usual if seen.days_asked is None else seen.days_asked

    def chosen() -> None:
        days = st.session_state["window"]
        address.put(window=None if days in (None, usual) else f"{days}d")

    st.segmented_control(
        "Looking back",
        list(said),
        format_func=said.__getitem__,
        key="window",
        on_change=chosen,
        label_visibility="collapsed",
    )


def _empty(quarantined: int = 0) -> None:
    if quarantined:
        st.title("Nothing that was ingested could be read")
        st.markdown(
            f"{format.plural(quarantined, 'record')} in quarantine: `headway quality` says which"
            " and why. Mend them, or their source, and run `headway ingest PATH` again."
        )
    else:
        st.title("Nothing ingested yet")
        st.markdown(
            "Run `headway demo` for an example, or `headway ingest PATH` with your own records."
        )
    st.caption(f"Looked in {store.home().root}")


def _watch(published: store.Snapshot, is_pinned: bool) -> None:
    """Look now and then for newer data or another theme; a pinned moment only tells of them."""
    drawn = theme()

    @st.fragment(run_every=LOOKS_EVERY_S)
    def look() -> None:
        try:
            newest = store.snapshot()
        except HeadwayError:
            return
        if theme() != drawn:
            st.rerun()
        if newest is published:
            return
        if not is_pinned:
            st.rerun()
        st.info(
            f"Newer data: {format.moment(newest.meta.as_of_us, zone())}. This page stays at its"
            " as_of; take it out of the address to follow."
        )

    look()


def head(
    seen: View,
    title: str,
    sentence: str = "",
    with_scope: bool = True,
    choose: Callable[[], None] | None = None,
    at_a_look: str = "",
) -> None:
    """The page's answer as its title, one sentence, and how old and how complete the data are.

    `choose` shows what else the page can be asked for, beside its scope; `at_a_look` is HTML with
    the numbers behind the answer.
    """
    if with_scope:
        choosers = [choose] if choose is not None else []
        choosers.append(lambda: _choose_scope(seen))
        left, *right = st.columns([3, *(1 for _ in choosers)], vertical_alignment="bottom")
        with left:
            st.title(title, anchor=False)
        for place, show_choice in zip(right, choosers, strict=True):
            with place:
                show_choice()
    else:
        st.title(title, anchor=False)
    if sentence:
        st.markdown(sentence)
    st.caption(_dated(seen))
    if seen.is_stale:
        limit = format.duration(seen.published.policy.stale_after_us)
        st.warning(
            f"Data is {format.duration(seen.age_us)} old (limit {limit}): states unknown, changes"
            f" held. Last: {format.moment(seen.through_us, seen.zone)}. Ingest what came since:"
            " `headway ingest PATH`.",
            icon=":material/schedule:",
        )
    if at_a_look:
        st.html(at_a_look)
    _let_stand(title)


def _let_stand(title: str) -> None:
    """Wait a moment where the title is new: a browser draws at once what arrives together."""
    if st.session_state.get("standing") != title:
        st.session_state["standing"] = title
        st.session_state["chart is due"] = True
        time.sleep(HEAD_START_S)


def _let_chart_stand() -> None:
    """Wait a moment after the first chart below a new title, for the same reason."""
    if st.session_state.pop("chart is due", False):
        time.sleep(CHART_START_S)


def _dated(seen: View) -> str:
    share = seen.published.ask(coverage, seen.scope, seen.shown_us)
    age = format.duration(seen.age_us // GRAIN_US * GRAIN_US)
    said = f"Data as of {format.moment(seen.through_us, seen.zone)}, "
    said += f"{age} old" if seen.age_us >= GRAIN_US else "just now"
    if seen.is_pinned:
        said += f" · pinned to {format.moment(seen.as_of_us, seen.zone)}"
    return f"{said} · coverage {format.percent(share)} of GPU time"


def coverage(facts: Facts, scope: Scope, as_of_us: int) -> float | None:
    moment = Moment.of(facts, as_of_us)
    return facts.coverage(scope, moment.start_us, moment.end_us).share


def _scopes(facts: Facts) -> list[str]:
    tenants = sorted({job["tenant"] for job in facts.jobs.values()})
    tiers = [tier.name for tier in facts.policy.tiers]
    clusters = facts.clusters if len(facts.clusters) > 1 else []
    return [
        "fleet",
        *(f"cluster={name}" for name in clusters),
        *(f"tier={name}" for name in tiers),
        *(f"tenant={name}" for name in tenants),
    ]


def scope_label(text: str) -> str:
    """A scope as people say it: Fleet, Tier standard."""
    return text.replace("=", " ").capitalize() if "," not in text else text


def _choose_scope(seen: View) -> None:
    options = seen.published.ask(_scopes)
    present = str(seen.scope)
    if present not in options:
        options = [present, *options]
    st.session_state["scope"] = present

    def chosen() -> None:
        value = st.session_state["scope"]
        address.put(scope=None if value == "fleet" else value)

    st.selectbox(
        "Scope",
        options,
        format_func=scope_label,
        key="scope",
        on_change=chosen,
        label_visibility="collapsed",
    )


def show(
    drawing: Drawing, key: str | None = None, on_pick: Callable[[str], None] | None = None
) -> None:
    """Show a chart; `on_pick` is told the id of what is clicked."""
    spec = drawing.filled()
    spec["datasets"] = {name: _table(rows) for name, rows in drawing.datasets.items()}
    picks: Any = {}
    if on_pick is not None and key is not None:
        picks = {"on_select": lambda: _picked(key, on_pick)}
    st.vega_lite_chart(spec, theme=None, width="stretch", key=key, alt=drawing.alt, **picks)
    _let_chart_stand()


def _picked(key: str, on_pick: Callable[[str], None]) -> None:
    """Tell what was clicked in the chart of a key."""
    state = st.session_state.get(key)
    found = state["selection"].get("pick") if state else None
    if found and found[0].get("id"):
        on_pick(str(found[0]["id"]))


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table | pd.DataFrame:
    return pa.Table.from_pylist(list(map(dict, rows))) if rows else pd.DataFrame()


@contextmanager
def behind(label: str) -> Iterator[bool]:
    """A place behind one click, and whether it is open: what it holds is sent only then."""
    with st.expander(label, key=f"behind {label}", on_change="rerun") as place:
        yield bool(place.open)


def numbers(rows: Sequence[Mapping[str, Any]], label: str) -> None:
    """The table behind a chart, behind one click; no two of a page have the same label."""
    with behind(label) as is_open:
        if is_open:
            table(rows)


def table(rows: Sequence[Mapping[str, Any]], none: str = "Nothing to list.") -> None:
    """Rows as a table, numbers to the right, sentences wrapped; `none` says it where none are."""
    if rows:
        st.html(markup.table(rows))
    else:
        st.caption(none)


def listed(lines: Sequence[str], none: str) -> None:
    """Sentences as a list; `none` says it where none are."""
    if lines:
        st.markdown("\n".join(f"- {line}" for line in lines))
    else:
        st.caption(none)


def shell(*words: str) -> None:
    """A command of Headway as it can be pasted into a shell."""
    st.html(markup.command(shlex.join(("headway", *words))))


def told_of_then(seen: View) -> None:
    """Say of a page that shows a moment of the past what that means."""
    if not seen.is_past:
        return
    hour = "" if seen.until_us == seen.as_of_us else ", the end of the hour asked for"
    st.caption(
        f"As it stood at {format.moment(seen.until_us, seen.zone)}{hour}; of what had happened by"
        " then, all that is known today."
    )


def told_of_newest(seen: View, what: str) -> None:
    """Say what of the page is not of the moment that the address pins but of the newest data."""
    newest_us = seen.published.meta.as_of_us or 0
    if seen.shown_us < newest_us:
        st.caption(f"{what} as of the newest data: {format.moment(newest_us, seen.zone)}.")
