"""Fixtures of the ingestion tests."""

from collections.abc import Iterator

import duckdb
import harness
import pytest


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse."""
    con = harness.fresh_warehouse()
    yield con
    con.close()
