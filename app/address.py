"""What a page's address says: deep links are read and written here only.

Streamlit's own binding of widgets writes their labels, and a change of page drops it. So ids are
kept by hand: `get` reads one, `put` writes it, `carried` is what a link to a page takes along.
"""

from urllib.parse import urlencode

import streamlit as st

from app import format
from metrics.scope import Scope

CARRIED = ("scope", "as_of")
"""What stays when a link leads to another page."""


def get(key: str) -> str | None:
    """A part of the address; None where it is absent or empty."""
    return st.query_params.get(key) or None


def put(**parts: str | None) -> None:
    """Write parts of the address; None takes one out."""
    for key, value in parts.items():
        if value:
            st.query_params[key] = value
        elif key in st.query_params:
            del st.query_params[key]


def number(key: str) -> int | None:
    """A part that is a whole number; None where it is none."""
    text = get(key)
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None


def carried(**more: str | None) -> dict[str, str]:
    """The parts that a link to another page keeps, and those that it adds; None takes one out."""
    parts = {key: get(key) for key in CARRIED} | more
    return {key: value for key, value in parts.items() if value}


def link(page: str, **more: str | None) -> str:
    """A link to another page for a text, with scope and moment kept unless they are given."""
    return f"/{page}?{urlencode(carried(**more))}"


def job_link(job: str) -> str:
    """A job's name that leads to its page, for a text."""
    return f"[{format.plain(job)}]({link('job', job=job)})"


def scope_text(scope: Scope) -> str | None:
    """A scope as the address has it; the fleet is not said."""
    return None if scope == Scope() else str(scope)
