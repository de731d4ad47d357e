"""Budgets and the freeze in words and cards, for their page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from app import format
from app.charts import spark, spend
from app.frame import View
from app.markup import Card
from app.palette import SLO_LABELS, STANDING_BADGES, STATE_BADGES, Badge
from app.views import home
from metrics.budget import PRESENT_BURN, State
from metrics.conventions import HOUR_US
from metrics.freeze import Standing


def name_of(card: home.Card) -> str:
    """Goodput 90 %; Restart under 10 min; Wait, interactive."""
    if card.measure == "goodput":
        return f"Goodput {format.percent(card.target, 0)}"
    if card.measure == "time_to_restart":
        return f"Restart under {format.duration(card.limit_us)}"
    if card.measure == "queue_wait":
        return f"Wait, {card.tier}"
    return SLO_LABELS.get(card.slo, card.slo)


def _value(card: home.Card) -> str:
    """What is left, or of a promise how many runs broke it."""
    if not card.total:
        return "Unknown"
    if card.left is None:
        return f"{card.bad} broken"
    return f"{format.percent(card.left)} left"


def shown(card: home.Card, seen: View) -> Card:
    """One objective at a look."""
    label = name_of(card)
    is_course = len(card.spark) > 1 and card.left is not None
    picture = spark.image(card.spark, seen.theme, f"{label}, 30 days") if is_course else ""
    return Card(label, _value(card), _told(card), picture, _badges(card, seen))


def _told(card: home.Card) -> str:
    if not card.total:
        return "no data in 30 d"
    if card.left is None:
        return f"of {format.plural(card.total, 'large run')}"
    rate = card.burn.get(PRESENT_BURN)
    return "nothing in 1 d" if rate is None else f"burn {format.burn(rate)} over 1 d"


def _badges(card: home.Card, seen: View) -> list[Badge]:
    if seen.is_stale:
        return [STATE_BADGES[State.UNKNOWN]]
    badge = STATE_BADGES[card.state]
    if card.left is None and card.state is State.EXHAUSTED:
        badge = replace(badge, word="Promise broken")
    return [badge, Badge("speed", "Over-cautious", "blue")][: 1 + card.is_over_cautious]


def title(course: home.Course, seen: View) -> str:
    """The answer."""
    if seen.published.rulings.frozen_by_hand(seen.scope, seen.as_of_us):
        return "Rollouts are frozen by hand"
    if seen.is_stale:
        return "Whether rollouts may start is unknown"
    if course.standing is Standing.FROZEN:
        return "Rollouts are frozen"
    return "Rollouts may start" if course.standing is Standing.OPEN else "Rollouts: unknown"


def why(course: home.Course, cards: list[home.Card], seen: View, said: str) -> str:
    """The state, since when, and why, in one sentence."""
    hand = seen.published.rulings.frozen_by_hand(seen.scope, seen.as_of_us)
    if hand:
        hand_said = format.plain(f"{hand.who} froze {hand.scope}: {hand.why}")
        return f"{STANDING_BADGES[Standing.FROZEN].markdown} {hand_said}"
    if seen.is_stale:
        state = STANDING_BADGES[Standing.UNKNOWN].markdown
        return f"{state} What was spent since is not known. An override lets one change pass."
    state = _state(course, seen.as_of_us)
    if course.standing is not Standing.FROZEN:
        return f"{state} {format.plain(said)}"
    held = [card for card in cards if card.slo in course.holding and card.state is State.EXHAUSTED]
    spent = "; ".join(_spent(card) for card in held) or "not yet back above the thaw level"
    return f"{state} {spent}. {_thaws(held)}"


def _state(course: home.Course, as_of_us: int) -> str:
    """The state and for how long it has stood."""
    badge = STANDING_BADGES[course.standing]
    if course.since_us is None:
        return badge.markdown
    whole_us = (as_of_us - course.since_us) // HOUR_US * HOUR_US
    return replace(badge, word=f"{badge.word} {format.duration(whole_us)}").markdown


def _spent(card: home.Card) -> str:
    name = name_of(card)
    if card.left is None:
        return f"**{name}**: {format.plural(card.bad, 'run')} lost more than one interval"
    over = format.amount(card.bad - card.allowed, card.unit)
    what = {"time_to_restart": " restarts", "queue_wait": " jobs"}.get(card.measure, "")
    return f"**{name}** is spent: {format.percent(card.left)} left ({over}{what} over)"


def _thaws(held: list[home.Card]) -> str:
    firm = [card for card in held if card.left is not None]
    if not firm:
        return ""
    quiet = _latest([card.thaw_us for card in firm])
    present = _latest([card.thaw_present_us for card in firm])
    if quiet is None:
        return "It does not thaw within 30 days, even if nothing more is lost."
    if quiet == present:
        return f"Thaws **{quiet}** if nothing more is lost, and at the burn of the last day too."
    late = present or "not within 30 days"
    return f"Thaws **{quiet}** if nothing more is lost, **{late}** at the burn of the last day."


def _latest(moments: Sequence[int | None]) -> str | None:
    """The last of moments; None where one of them never comes."""
    known = [us for us in moments if us is not None]
    return format.moment(max(known)) if len(known) == len(moments) else None


def spent(what: str, found: spend.Spent) -> list[dict[str, str]]:
    """What each spender took of the budget, and took the 30 days before."""
    return [
        {
            what: spender.label,
            "Lost": format.amount(spender.amount, found.unit),
            "Of budget": format.percent(
                Fraction(spender.amount, found.whole) if found.whole else None
            ),
            "Work done again": format.amount(spender.again, found.unit),
            "30 days before": format.UNKNOWN
            if spender.before is None
            else format.amount(spender.before, found.unit),
        }
        for spender in found.spenders
    ]


def cost(preview: Mapping[str, Any]) -> str:
    """What a change would cost of the goodput budget, and whether that would freeze rollouts."""
    goodput = next((row for row in preview["budgets"] if row["unit"] == "gpu_us"), None)
    lost = goodput["remaining"] - goodput["remaining_after"] if goodput else 0
    verdict = "**It alone would freeze rollouts.**" if preview["would_freeze"] else ""
    left = (
        f" The fleet’s goodput budget would go from {format.gpu_hours(goodput['remaining'])} to"
        f" {format.gpu_hours(goodput['remaining_after'])}."
        if goodput
        else ""
    )
    return (
        f"It would stop {format.plural(len(preview['jobs']), 'job')} and cost"
        f" **{format.gpu_hours(lost)}** of budget.{left} {verdict}"
    )
