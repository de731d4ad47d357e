"""The entry: navigation over the pages, and what Headway reports instead of a traceback."""

from pathlib import Path

import streamlit as st

from app import frame
from app.palette import THEMES
from metrics.errors import HeadwayError

STYLE = Path(__file__).with_name("page.css")

PAGES = {
    "": [
        ("home", "Budget and freeze", ":material/speed:"),
        ("job", "My job", ":material/show_chart:"),
        ("review", "Weekly review", ":material/event_note:"),
    ],
    "Objectives": [
        ("restarts", "Restarts", ":material/restart_alt:"),
        ("queue", "Queue wait", ":material/hourglass_top:"),
        ("checkpoints", "Checkpoints", ":material/save:"),
    ],
    "Cluster": [
        ("capacity", "Capacity", ":material/memory:"),
        ("waiting", "Waiting", ":material/pending_actions:"),
        ("health", "Data health", ":material/fact_check:"),
        ("decisions", "Decisions", ":material/gavel:"),
    ],
}


def main() -> None:
    """Run the page that the address names."""
    st.set_page_config(page_title="Headway", page_icon=":material/speed:", layout="centered")
    st.html(STYLE)
    look = THEMES[frame.theme()]
    st.html(f"<style>:root {{ --ground: {look.background}; --ink2: {look.ink2}; }}</style>")
    pages = {
        section: [
            st.Page(
                f"app_pages/{name}.py",
                title=title,
                icon=icon,
                url_path=name,
                default=name == "home",
            )
            for name, title, icon in found
        ]
        for section, found in PAGES.items()
    }
    page = st.navigation(pages, position="top")
    try:
        page.run()
    except HeadwayError as e:
        st.title("This cannot be shown", anchor=False)
        st.error(str(e), icon=":material/error:")
        st.markdown("[Start from the whole fleet](/)")


if __name__ == "__main__":
    main()
