"""A site with the demonstration's data, shared by the tests of pages, and pages run on it."""

from pathlib import Path

import pytest
from demonstration import Demonstration
from pages import MAIN, Opener
from streamlit.testing.v1 import AppTest

from app import frame


@pytest.fixture(scope="session")
def demo_home(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the demonstration in it. Read only: what writes takes one of its own."""
    return demonstration.copy(tmp_path_factory.mktemp("demo") / "home")


@pytest.fixture
def open_page(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Runs a page of a home (the demonstration's unless named) with parts of its address."""

    # Nobody looks on: nothing needs to stand before what comes after it.
    monkeypatch.setattr(frame, "HEAD_START_S", 0.0)
    monkeypatch.setattr(frame, "CHART_START_S", 0.0)

    def opened(page: str, home: Path | None = None, **address: str) -> AppTest:
        monkeypatch.setenv("HEADWAY_HOME", str(home or demo_home))
        run = AppTest.from_file(str(MAIN), default_timeout=60)
        for key, value in address.items():
            run.query_params[key] = value
        if page == "home":
            return run.run()
        # Pages are known by name once the entry ran.
        run.run()
        for key, value in address.items():
            run.query_params[key] = value
        return run.switch_page(f"app_pages/{page}.py").run()

    return opened
