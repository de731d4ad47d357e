"""Whether words are stored anywhere in a home."""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from answers.home import Home


def texts_of(database: Path) -> Iterator[str]:
    """Every value of every table of a database, as text."""
    with duckdb.connect(database, read_only=True) as con:
        names = con.execute("select table_name from duckdb_tables()").fetchall()
        for (name,) in names:
            for row in con.execute(f'from "{name}"').fetchall():
                yield from map(str, row)


def places_of(home: Home, words: str) -> list[str]:
    """Where in the home the words stand: in files as they are, and as databases tell of them."""
    found = []
    for path in home.root.rglob("*"):
        if path.is_file() and words.encode() in path.read_bytes():
            found.append(f"bytes of {path.name}")
        if path.suffix == ".duckdb" and any(words in text for text in texts_of(path)):
            found.append(f"a table of {path.name}")
    return found
