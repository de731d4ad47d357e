"""What tests of every folder share."""

import os

import pytest
from demonstration import Demonstration, demonstrate
from hypothesis import settings

# A busy machine makes no example wrong.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    """The demonstration, made once for all tests that ask it, in whichever process they run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return demonstrate(shared / "demonstration")


LONGEST_FIRST = (
    "test_browser.py",
    "test_against_reference.py",
    "test_chaos.py",
    "test_up.py",
    "test_publication.py",
    "test_any_delivery.py",
    "test_http_gate.py",
    "test_cli.py",
    "test_pages.py",
    "test_readme.py",
    "test_definitions.py",
    "test_folding.py",
    "test_bad_input.py",
    "test_step_ingestion.py",
    "test_truth.py",
)
"""Files that take minutes: one that began last would keep one core at work and leave the others
idle. By itself pytest-xdist begins with those of the most tests, which are the quickest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; all others stay in their order."""
    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
