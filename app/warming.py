"""Making what a first view needs before anybody looks.

Streamlit runs nothing until somebody opens a page, and then imports, reads the mart and builds the
charts' templates while he waits. So every page is run once at the start, and what the first page
asks is asked of everything that is published later.
"""

import io
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from streamlit.testing.v1 import AppTest

from app import charts, frame, store
from app.palette import THEMES
from app.streamlit_app import PAGES
from app.views import home, jobs
from metrics.errors import HeadwayError
from metrics.scope import Scope

LONGEST_S = 60.0
"""What one page may take before anybody asks for it; then the server starts without."""

LOOKS_EVERY_S = 2.0
"""How soon what is published is read, and a new five minutes judged: before most first views."""


def warm(script: Path) -> None:
    """Run every page once, and build every chart's templates, those of the other theme too.

    To be called before the server runs: Streamlit's test runner stands in for it.
    """
    with _unsaid(), suppress(RuntimeError):
        run = AppTest.from_file(str(script), default_timeout=LONGEST_S).run()
        for section in PAGES.values():
            for name, _, _ in section:
                # A change of page drops the address.
                run.query_params.update(_some_job() if name == "job" else {})
                run.switch_page(f"app_pages/{name}.py").run()
        for theme in THEMES:
            for kind in charts.kinds():
                kind.template(theme)


def _some_job() -> dict[str, str]:
    try:
        found = store.snapshot().read(jobs.search, "")
    except HeadwayError:
        return {}
    return {"job": found[0].job} if found else {}


@contextmanager
def _unsaid() -> Iterator[None]:
    """Streamlit's remarks are for whoever opens a page, and are made again to him."""
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)


def keep_warm() -> None:
    """Ask what the first page asks, for ever; what is remembered is not asked again."""
    while True:
        # Where nothing can be read the page says why, to whom it concerns.
        with suppress(HeadwayError):
            ask_first(store.snapshot(), frame.present_us())
        time.sleep(LOOKS_EVERY_S)


def ask_first(published: store.Snapshot, as_of_us: int) -> None:
    """Ask what the first page asks of the whole fleet."""
    if published.meta.as_of_us is not None:
        published.ask(home.cards, Scope(), as_of_us)
        published.ask(home.course, Scope(), as_of_us)
        published.permits(Scope(), as_of_us)
