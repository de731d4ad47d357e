"""What the tests of the app's pages share."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
from streamlit.testing.v1 import AppTest

from app import format

ROOT = Path(__file__).parents[1]
MAIN = ROOT / "app" / "streamlit_app.py"
AS_OF = "2026-11-29T16:00:00Z"
"""A moment minutes after the demonstration's last record."""

Opener = Callable[..., AppTest]


def said(run: AppTest) -> str:
    """All that a page says in words, with plain spaces."""
    kinds = (run.title, run.header, run.markdown, run.caption, run.warning, run.error, run.info)
    return format.spaced("\n".join(str(element.value) for kind in kinds for element in kind))


def markup(run: AppTest) -> str:
    """The HTML that a page shows, with plain spaces."""
    return format.spaced("".join(element.value for element in run.html))


def tables(run: AppTest) -> list[pd.DataFrame]:
    """The tables of a page, in their order, each cell as it is said."""
    return [_read(table) for table in re.findall(r"<table.*?</table>", markup(run), re.DOTALL)]


def _read(table: str) -> pd.DataFrame:
    rows = [[cell.text or "" for cell in row] for row in ElementTree.fromstring(table).iter("tr")]
    return pd.DataFrame(rows[1:], columns=rows[0])


def cards(run: AppTest) -> dict[str, str]:
    """The numbers of a page's cards by their labels."""
    card = r'<div class="label">(.*?)</div><div class="value">(.*?)</div>'
    return {unescape(label): unescape(value) for label, value in re.findall(card, markup(run))}


def commands(run: AppTest) -> list[str]:
    """The commands that a page shows."""
    return [unescape(said) for said in re.findall(r"<pre[^>]*>(.*?)</pre>", markup(run), re.DOTALL)]


def opened(run: AppTest, label: str) -> AppTest:
    """The page once a click has opened what is behind a label."""
    assert label in [expander.label for expander in run.expander]
    run.session_state[f"behind {label}"] = True
    return run.run()
