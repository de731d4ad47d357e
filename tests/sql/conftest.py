"""Fixtures of the rule tests: streams into a warehouse in memory, answers out of it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import harness
import pytest
from build import Answers, Derive, Record, allocated, at, steps


@pytest.fixture
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse in memory."""
    con = harness.fresh_warehouse()
    con.execute("set threads = 1")  # a few rows: more threads only cost
    yield con
    con.close()


@pytest.fixture
def derive(warehouse: duckdb.DuckDBPyConnection, tmp_path: Path) -> Derive:
    """Deliver records to the test's warehouse, refresh it, and return its answers.

    Called again, it adds records to those that are there, as a later delivery would.
    """

    def run(
        lifecycle: Sequence[Record], steps: Sequence[Record] = (), as_of: float | None = None
    ) -> Answers:
        harness.deliver(warehouse, tmp_path, list(lifecycle), list(steps))
        harness.rederive(warehouse, None if as_of is None else at(as_of))
        return Answers(warehouse)

    return run


@pytest.fixture
def after_five(derive: Derive) -> Callable[..., dict[str, float]]:
    """What follows five steps, in seconds; later steps count in `useful step`.

    The job is allocated at 0 and completes steps 1 to 5 of attempt 0 at 10, 20, … 50, which is
    taken off: 10 s of startup launch and 40 useful.
    """
    five = steps(0, 1, 5)

    def run(*lifecycle: Record, steps: Sequence[Record] = ()) -> dict[str, float]:
        found = derive([allocated(0), *lifecycle], [*five, *steps]).ledger()
        assert found.pop("startup launch") == 10
        found["useful step"] -= 40
        return {label: seconds for label, seconds in found.items() if seconds}

    return run
