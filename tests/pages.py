"""What the tests of the app's pages share."""

from collections.abc import Callable
from pathlib import Path

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
