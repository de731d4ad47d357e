"""What people decided, on disk: an append-only SQLite database beside the mart.

It is no part of the warehouse, so that a decision acts at once and waits for nobody's lock.
Triggers refuse updates and deletions, also from other programs; what was decided wrongly is revoked
by a further entry.
"""

import json
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
        if not self._path.exists():
            return []
        with self._open() as con:
            rows = con.execute(f"select {_COLUMNS} from entries order by id").fetchall()
        return [_ruling(row) for row in rows]

    def latest(self, kind: Kind, scope: Scope, body: Mapping[str, Any]) -> Ruling | None:
        """The last entry of a kind, a scope and a content, if there is one."""
        if not self._path.exists():
            return None
        with self._open() as con:
            row = con.execute(
                f"select {_COLUMNS} from entries where kind = ? and scope = ? and body = ?"
                " order by id desc limit 1",
                (kind.value, str(scope), json.dumps(body)),
            ).fetchone()
        return _ruling(row) if row else None

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

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            con = sqlite3.connect(self._path, timeout=WAIT_S)
        except (OSError, sqlite3.Error) as e:
            raise HeadwayError(f"{self._path}: the journal cannot be opened ({e})") from e
        try:
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
