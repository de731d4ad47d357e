"""What people decided, on disk: an append-only SQLite database beside the mart.

It is no part of the warehouse, so that a decision acts at once and waits for nobody's lock.
Triggers refuse updates and deletions, also from other programs; what was decided wrongly is revoked
by a further entry.
"""

import json
import os
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from answers.clock import now_us
from answers.home import Home
from metrics.errors import HeadwayError, UsageError
from metrics.rulings import OWN, Kind, Ruling
from metrics.scope import Scope

WAIT_S = 10
"""How long an entry waits for another that is being written."""

_SCHEMA = """
create table if not exists entries (
  id integer primary key autoincrement,
  at_us integer not null,
  kind text not null,
  scope text not null,
  who text not null check (length(trim(who)) > 0),
  why text not null check (length(trim(why)) > 0),
  body text not null check (json_valid(body)),
  of integer references entries (id)
) strict;
create trigger if not exists entries_never_change before update on entries
begin select raise(abort, 'the journal is append-only: add an entry that revokes it'); end;
create trigger if not exists entries_never_go before delete on entries
begin select raise(abort, 'the journal is append-only: add an entry that revokes it'); end;
-- INSERT OR REPLACE would delete without firing the trigger above.
create trigger if not exists entries_are_never_replaced before insert on entries
when exists (select 1 from entries where id = new.id)
begin select raise(abort, 'the journal is append-only: add an entry that revokes it'); end;
"""

_COLUMNS = "id, at_us, kind, scope, who, why, body, of"


class Journal:
    """The journal of a home. It is made by the first entry; reading none gives none."""

    def __init__(self, home: Home) -> None:
        self._path = home.journal

    def entries(self) -> list[Ruling]:
        """All entries, in the order written. Raises HeadwayError where it cannot be read."""
        return [_ruling(row) for row in self._read(f"select {_COLUMNS} from entries order by id")]

    def latest(self, kind: Kind, scope: Scope, body: Mapping[str, Any]) -> Ruling | None:
        """The last entry of a kind, a scope and a content, if there is one."""
        rows = self._read(
            f"select {_COLUMNS} from entries where kind = ? and scope = ? and body = ?"
            " order by id desc limit 1",
            (kind.value, str(scope), json.dumps(body)),
        )
        return _ruling(rows[0]) if rows else None

    def append(
        self,
        kind: Kind,
        who: str,
        why: str,
        scope: Scope | None = None,
        body: Mapping[str, Any] | None = None,
        of: int | None = None,
    ) -> Ruling:
        """Write an entry; as it stands. Raises UsageError where who or why says nothing."""
        if not who.strip() or not why.strip():
            raise UsageError("say --who decided and --why: both stay in the journal")
        if kind not in OWN:
            _check_printable("--who", who, but="")
            _check_printable("--why", why, but="\n\r\t")
        values = (now_us(), kind.value, str(scope or Scope()), who, why, json.dumps(body or {}), of)
        with self._open() as con, con:
            row = con.execute(
                "insert into entries (at_us, kind, scope, who, why, body, of)"
                f" values (?, ?, ?, ?, ?, ?, ?) returning {_COLUMNS}",
                values,
            ).fetchone()
        return _ruling(row)

    def _read(self, query: str, params: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        with self._open(self._access_without_rights()) as con:
            return con.execute(query, params).fetchall()

    def _access_without_rights(self) -> str:
        """How SQLite is to open it for somebody who may only read; empty for all others.

        Beside a write-ahead log its index is there too, or a reader would have to make one; without
        a log nobody has it open, and it is read as a file that stays as it is.
        """
        if all(os.access(place, os.W_OK) for place in (self._path, self._path.parent)):
            return ""
        logged = self._path.with_name(self._path.name + "-wal").exists()
        return "?mode=ro" if logged else "?mode=ro&immutable=1"

    @contextmanager
    def _open(self, access: str = "") -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            place = self._path.absolute().as_uri() + access
            con = sqlite3.connect(place, timeout=WAIT_S, uri=True)
        except (OSError, sqlite3.Error) as e:
            raise HeadwayError(f"{self._path}: the journal cannot be opened ({e})") from e
        try:
            if not access:
                con.execute("pragma journal_mode = wal")
                con.execute("pragma foreign_keys = on")
                con.executescript(_SCHEMA)
            yield con
        except sqlite3.Error as e:
            raise HeadwayError(f"{self._path}: the journal cannot be used ({e})") from e
        finally:
            con.close()


def _check_printable(option: str, text: str, but: str) -> None:
    """Refuse what would act on the terminal of whoever reads the journal, or is no text at all."""
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in but:
            raise UsageError(f"{option}: {character!a} cannot be printed; leave it out")


def _ruling(row: tuple[Any, ...]) -> Ruling:
    id_, at_us, kind, scope, who, why, body, of = row
    return Ruling(id_, at_us, Kind(kind), Scope.parse(scope), who, why, json.loads(body), of)
