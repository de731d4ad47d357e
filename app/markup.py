"""HTML that pages show and the exported review carries: tables, cards, commands. All is escaped.

Streamlit's own tables, metrics and code blocks each load a part of its front end, half of all that
a page would load, and nothing after them is drawn before it has come. HTML is drawn at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from app import format
from app.palette import Badge

SENTENCE = 40
"""A column with a longer cell than this is wrapped."""

WIDE = 5
"""A table of so many columns takes all the width; a smaller one keeps its numbers together."""

MOST_UNSCROLLED = 15
"""A table of so many rows is shown whole, a longer one scrolls."""


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same keys as a table: numbers to the right, sentences wrapped, by column."""
    heads = list(rows[0])
    kinds = {name: _kind([str(row[name]) for row in rows], name == heads[0]) for name in heads}
    head = "".join(_cell("th", kinds[name], name) for name in heads)
    body = "".join(
        "<tr>" + "".join(_cell("td", kinds[name], row[name]) for name in heads) + "</tr>"
        for row in rows
    )
    width = "whole" if len(heads) >= WIDE or "said" in kinds.values() else "fit"
    height = " scrolls" if len(rows) > MOST_UNSCROLLED else ""
    return (
        f'<div class="wide{height}"><table class="{width}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _kind(cells: Sequence[str], is_first: bool) -> str:
    if not is_first and format.are_numbers(cells):
        return "number"
    return "said" if max(map(len, cells)) > SENTENCE else ""


def _cell(tag: str, kind: str, said: object) -> str:
    """A cell; where it is never broken it has plain spaces, to be searched and copied."""
    side = f' class="{kind}"' if kind else ""
    text = str(said) if kind == "said" else format.spaced(str(said))
    return f"<{tag}{side}>{escape(text)}</{tag}>"


@dataclass(frozen=True)
class Card:
    """A number at a look: what it is, the number, what it is of, a picture (HTML), its states."""

    label: str
    value: str
    told: str = ""
    picture: str = ""
    badges: Sequence[Badge] = ()


def cards(shown: Iterable[Card]) -> str:
    """Cards side by side, as many in a row as there is room for."""
    return f'<div class="cards">{"".join(map(_card, shown))}</div>'


def _card(card: Card) -> str:
    told = f'<div class="told">{escape(card.told)}</div>' if card.told else ""
    badges = "".join(map(_badge, card.badges))
    return (
        f'<div class="card"><div class="label">{escape(card.label)}</div>'
        f'<div class="value">{escape(card.value)}</div>{told}{card.picture}{badges}</div>'
    )


def _badge(badge: Badge) -> str:
    icon = f'<span class="icon" aria-hidden="true">{badge.icon}</span>'
    return f'<span class="badge {badge.color}">{icon} {escape(badge.word)}</span>'


def command(said: str) -> str:
    """A command, of which one click selects all; on a phone it is wrapped, not cut."""
    return f'<pre class="command" title="One click selects it all">{escape(said)}</pre>'
