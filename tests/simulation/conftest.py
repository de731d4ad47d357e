"""Simulations that several tests look at, each made once."""

from pathlib import Path

import pytest
from scenarios import made, small


@pytest.fixture(scope="session")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two weeks and a day of a middling cluster, the second of them bad."""
    scenario = small(1, days=15, jobs=24, step_s=1800, bad_week=2)
    return made(scenario, tmp_path_factory.mktemp("long"))
