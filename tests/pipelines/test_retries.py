"""What a run tries again, and what not: a disk may have room in a minute, a bad file stays bad."""

import errno
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from answers.home import Home
from metrics.errors import HeadwayError, StorageFault, UnreadableInput, WarehouseBusy
from pipelines.defs.site import Report, Site
from pipelines.derive import FailedChecks
from pipelines.faults import storage_faults
from pipelines.run import run
from pipelines.warehouse import transaction


@pytest.mark.parametrize(
    "fault",
    [WarehouseBusy("held"), StorageFault("full"), OSError(errno.EIO, "input/output error")],
    ids=lambda fault: type(fault).__name__,
)
def test_what_may_pass_is_tried_again_later_and_later(fault: Exception) -> None:
    waits = []
    for number in range(4):
        with pytest.raises(dg.RetryRequested) as asked, Site().retrying(number):
            raise fault
        assert asked.value.max_retries == 4
        assert asked.value.__cause__ is fault
        waits.append(asked.value.seconds_to_wait)
    # 15 s × (2ⁿ − 1): 15, 45, 105, 225 s, each up to itself more or less.
    for wait, most in zip(waits, (30, 90, 210, 450), strict=True):
        assert wait is not None
        assert 0 <= wait <= most


@pytest.mark.parametrize(
    "fault",
    [
        UnreadableInput("a file"),
        FailedChecks({"job_hours_balance": ["job 1: 1 µs"]}),
        duckdb.CatalogException("no such table"),
        KeyboardInterrupt(),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_what_would_fail_again_is_not_tried_again(fault: BaseException) -> None:
    with pytest.raises(type(fault)), Site().retrying(0):
        raise fault


def test_the_command_line_says_at_once_what_is_wrong() -> None:
    with pytest.raises(WarehouseBusy), Site(retries=0).retrying(0):
        raise WarehouseBusy("held")


def test_a_step_that_meets_a_busy_warehouse_succeeds_at_a_later_try() -> None:
    tries = []

    @dg.op
    def step(context: dg.OpExecutionContext) -> None:
        with Site(retry_delay_s=0.01).retrying(context.retry_number):
            tries.append(context.retry_number)
            if len(tries) < 3:
                raise WarehouseBusy("held")

    @dg.job
    def work() -> None:
        step()

    assert work.execute_in_process().success
    assert tries == [0, 1, 2]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full; free some space"),
        (OSError(errno.EROFS, "Read-only file system"), "the file system is read-only"),
        (duckdb.IOException("Could not write: No space left on device"), "the disk is full"),
        (
            duckdb.TransactionException("File too large"),
            "a file may not grow further",
        ),
    ],
    ids=["full", "read-only", "full under the database", "limited under the database"],
)
def test_a_fault_of_the_disk_says_what_where_and_what_to_do(fault: Exception, said: str) -> None:
    with pytest.raises(StorageFault) as told, storage_faults(Path("/the/home")):
        raise fault
    assert str(told.value).startswith(f"/the/home: {said}")
    assert "run the same again" in str(told.value)
    assert isinstance(told.value, HeadwayError)


def test_other_errors_pass_as_they_are() -> None:
    with pytest.raises(FileNotFoundError), storage_faults(Path("/the/home")):
        raise FileNotFoundError(errno.ENOENT, "no such file")


def test_a_run_that_dagster_ends_says_what_was_at_the_root_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own error names only the part that failed."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Site, "setup_for_execution", full)
    with pytest.raises(HeadwayError, match=r"the run failed: .*resource.*No space left on device"):
        run(Home.open(tmp_path), Report())


def test_a_transaction_that_the_database_ended_itself_tells_its_own_error() -> None:
    with duckdb.connect() as con, pytest.raises(StorageFault), transaction(con):
        con.execute("rollback")
        raise StorageFault("the disk is full")
