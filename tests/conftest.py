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
