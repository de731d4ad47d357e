"""Serving the pages: Streamlit at a host and a port, its first page's needs made beforehand.

Templates cost a second each to build, and Streamlit runs nothing until somebody looks: so they are
built while nobody waits.
"""

import sys
import threading
from pathlib import Path

# Altair takes these from sys.modules: they must be whole before the templates' thread starts, which
# runs beside Streamlit's own imports of them.
import numpy  # noqa: F401
import pandas  # noqa: F401
from streamlit.web import cli

from app.charts import area, budget, curves, gangs, life, phases, spend, steps, trend, waterfall
from app.palette import THEMES

KINDS = (budget, spend, waterfall, life, phases, steps, curves, trend, area, gangs)
"""Charts in the order in which pages are looked at."""


def warm() -> None:
    """Build every template, the light ones first."""
    for theme in THEMES:
        for kind in KINDS:
            kind.template(theme)


def main() -> None:
    """Serve at the host and the port that are named."""
    threading.Thread(target=warm, daemon=True).start()
    script = Path(__file__).with_name("streamlit_app.py")
    _, host, port = sys.argv
    where = ["--server.address", host, "--server.port", port]
    sys.argv = ["streamlit", "run", str(script), *where]
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
