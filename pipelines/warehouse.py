"""The warehouse: one DuckDB file that only the pipeline opens, by one process at a time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

import sql
from metrics.errors import UnreadableInput, WarehouseBusy
from pipelines.faults import is_storage_fault, storage_faults

WAIT_S = 120.0
"""How long a second run waits for the first before it refuses."""

_POLL_S = 0.2

CHECKPOINT_AT = "256MB"
"""A run commits each file and the refresh, and closing moves the log into the file anyway: before,
only a log of this size is worth it."""

SCHEMA_VERSION = 4
"""Raised when a stored table changes its columns."""


@contextmanager
def open_warehouse(path: Path, wait_s: float = WAIT_S) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse for writing, made with its tables if it is new, and close it for sure.

    Raises WarehouseBusy where another process holds it for longer than `wait_s` seconds,
    UnreadableInput where the file is no warehouse, and StorageFault where the disk fails, also
    while it is open.
    """
    with storage_faults(path.parent):
        con = _connect(path, time.monotonic() + wait_s)
        try:
            prepare(con)
            yield con
        finally:
            con.close()


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Give a database the warehouse's settings and, where it is empty, its tables.

    Raises UnreadableInput where it holds tables of something else, or of another version.
    """
    con.execute("set timezone = 'UTC'")
    con.execute("set enable_progress_bar = false")
    con.execute(f"set checkpoint_threshold = '{CHECKPOINT_AT}'")
    tables = {row[0] for row in con.execute("select table_name from duckdb_tables()").fetchall()}
    versions = con.execute("from schema_version").fetchall() if "schema_version" in tables else None
    if tables and versions != [(SCHEMA_VERSION,)]:
        raise UnreadableInput(
            f"{_file_of(con)}: not a warehouse of this version of Headway; move it away and ingest "
            "the files again"
        )
    con.execute(sql.read("schema"))
    con.execute(sql.read("macros"))
    if not tables:
        con.execute("insert into schema_version values (?)", [SCHEMA_VERSION])


def _file_of(con: duckdb.DuckDBPyConnection) -> str:
    (path,) = one_row(
        con, "select path from duckdb_databases() where database_name = current_database()"
    )
    return path or "the database in memory"


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All of it or nothing of it."""
    con.execute("begin")
    try:
        yield
    except BaseException:
        # A failing disk may have ended the transaction already: its own error is the one to tell.
        with suppress(duckdb.Error):
            con.execute("rollback")
        raise
    con.execute("commit")


def one_row(
    con: duckdb.DuckDBPyConnection, query: str, params: list[Any] | dict[str, Any] | None = None
) -> tuple[Any, ...]:
    """The only row of a query's result (fetched to its end: a connection allows nothing else)."""
    (row,) = con.execute(query, params).fetchall()
    return tuple(row)


def _connect(path: Path, deadline: float) -> duckdb.DuckDBPyConnection:
    while True:
        try:
            return duckdb.connect(path)
        except duckdb.IOException as e:
            if "lock" not in str(e).lower():
                if is_storage_fault(e):
                    raise
                raise UnreadableInput(f"{path}: cannot be opened as a warehouse ({e})") from e
            if time.monotonic() >= deadline:
                raise WarehouseBusy(
                    f"{path}: another run holds the warehouse; try again when it has ended"
                ) from e
            time.sleep(_POLL_S)
