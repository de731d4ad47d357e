"""Reading the published mart: read-only, a connection a question, never the warehouse."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from answers.home import Home
from metrics.errors import HeadwayError, NothingPublished

CURRENT = "CURRENT"
"""The pointer file in the folder of marts: it names the one to read."""

_TRIES = 5

Params = list[Any] | dict[str, Any] | None


@dataclass(frozen=True)
class Meta:
    """What a mart says of itself; `as_of_us` in µs is None while the store is empty."""

    as_of_us: int | None
    as_of_given: bool
    published_us: int


class Mart:
    """An open mart.

    All that asks it raises HeadwayError where another version published it without what is read, or
    where the file is damaged.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def meta(self) -> Meta:
        """When the mart was published, and as of when it answers."""
        row = self.rows("select as_of_us, as_of_given, published_us from meta")[0]
        return Meta(row["as_of_us"], row["as_of_given"], row["published_us"])

    def qualifier(self) -> str:
        """What before a name means the published table, whatever the name stands for here."""
        (row,) = self.rows("select current_database() as name")
        return '"{}".'.format(row["name"].replace('"', '""'))

    def keep(self, name: str, query: str, params: Params = None) -> None:
        """Keep a query's rows as a table of this connection only."""
        self._execute(f"create or replace temp table {name} as {query}", params)

    def let(self, name: str, value: int) -> None:
        """Give a number a name on this connection, for queries to read by `getvariable`."""
        self._execute(f"set variable {name} = ?", [value])

    def define(self, name: str, query: str) -> None:
        """Give a query a name on this connection, to be run where it is asked for."""
        self._execute(f"create or replace temp view {name} as {query}")

    def define_table(self, name: str, parameters: list[str], query: str) -> None:
        """Give a query of parameters a name on this connection, to be read like a table."""
        self._execute(
            f"create or replace temp macro {name}({', '.join(parameters)}) as table {query}"
        )

    def rows(self, query: str, params: Params = None) -> list[dict[str, Any]]:
        """A query's rows as dictionaries; integers stay integers of any size."""
        with _in_words():
            result = self._con.execute(query, params)
            names = [column[0] for column in result.description or []]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def _execute(self, query: str, params: Params = None) -> None:
        with _in_words():
            self._con.execute(query, params)


@contextmanager
def _in_words() -> Iterator[None]:
    """Tell of a mart that another version published, or that is damaged; our own faults stay."""
    try:
        yield
    except (duckdb.CatalogException, duckdb.BinderException) as e:
        raise HeadwayError(
            f"the published numbers lack what this Headway reads ({str(e).splitlines()[0]}):"
            " `headway refresh` publishes them anew"
        ) from e
    except (duckdb.ProgrammingError, duckdb.DataError):
        raise
    except duckdb.Error as e:
        raise HeadwayError(
            f"the published numbers cannot be read ({str(e).splitlines()[0]}):"
            " `headway refresh` publishes them anew"
        ) from e


@contextmanager
def open_mart(home: Home) -> Iterator[Mart]:
    """Open the mart that CURRENT names.

    Raises NothingPublished where there is none, HeadwayError where it cannot be read.
    """
    _, con = connect(home)
    try:
        yield Mart(con)
    finally:
        con.close()


def current(home: Home) -> str:
    """The name of the file that CURRENT names. Raises NothingPublished, OSError."""
    pointer = home.mart / CURRENT
    if not pointer.exists():
        raise NothingPublished(
            f"{home.root}: nothing was published here yet; run `headway ingest PATH`, or say --home"
        )
    return pointer.read_text(encoding="utf-8").strip()


def connect(home: Home) -> tuple[str, duckdb.DuckDBPyConnection]:
    """The published file's name, and a connection to it that only reads. Raises as `open_mart`."""
    fault: Exception | None = None
    for _ in range(_TRIES):
        # Between the two lines a publication may prune the file: then CURRENT is read again.
        try:
            name = current(home)
            return name, duckdb.connect(home.mart / name, read_only=True)
        except (OSError, UnicodeDecodeError, duckdb.Error) as e:
            fault = e
    raise HeadwayError(
        f"{home.mart / CURRENT}: names no mart that can be read; `headway refresh` publishes a"
        " new one"
    ) from fault
