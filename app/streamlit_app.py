"""The entry: navigation over the pages, and what Headway reports instead of a traceback."""

import streamlit as st

from metrics.errors import HeadwayError

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
    st.html(_WIDTH)
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


_WIDTH = """<style>
.stMainBlockContainer { max-width: 1160px; padding-top: 4.5rem; }
[data-testid="stMetricValue"] { font-size: 1.45rem; }
h1 { padding-bottom: 0.25rem; }
[class*="st-key-cards"] > div { flex: 1 1 160px; max-width: 20rem; }
[data-testid="stTable"] td > [data-testid="stMarkdownContainer"] { max-width: none; width: auto; }
[data-testid="stTable"] td:not(:nth-child(2)) * { white-space: nowrap; }
[data-testid="stTable"] td:nth-child(2) { min-width: 11rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding-left: 1rem; padding-right: 1rem; } }
</style>"""


if __name__ == "__main__":
    main()
