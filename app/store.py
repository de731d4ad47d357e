"""What pages read: a published mart, opened once for all sessions, and the journal beside it.

A `Snapshot` is one published file under one journal and one policy; it never changes. When CURRENT
names another file, or somebody decides something, the next look gives a new one and the old one
goes once nobody holds it. One connection shared by threads gives wrong answers silently: plain
questions take a cursor a call, and those on the connection's own tables take turns.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar

import duckdb

from answers import gate
from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import Mart, Meta, connect, current
from metrics.policy import Policy
from metrics.rulings import Rulings
from metrics.scope import Scope

REMEMBERED = 96
"""Answers kept a snapshot: small frames, so that going back to a page costs nothing."""

OPEN = 2
"""Snapshots kept open: the newest, and the one that pages being drawn still hold."""

T = TypeVar("T")


class Snapshot:
    """One published file under one journal and one policy."""

    def __init__(self, home: Home, name: str, con: duckdb.DuckDBPyConnection) -> None:
        self.home, self.name = home, name
        self.policy: Policy = home.policy()
        self.rulings = Rulings(Journal(home).entries(), self.policy)
        self._con = con
        self.meta: Meta = Mart(con).meta()
        self._facts: Facts | None = None
        self._turn = RLock()
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()

    def ask(self, question: Callable[..., T], *given: Hashable) -> T:
        """The answer of `question(facts, *given)`, remembered."""
        return self._remembered(question, given, lambda: question(self._all_facts(), *given))

    def read(self, question: Callable[..., T], *given: Hashable) -> T:
        """The answer of `question(mart, *given)`, read through a cursor of its own, remembered."""

        def answer() -> T:
            cursor = self._con.cursor()
            try:
                return question(Mart(cursor), *given)
            finally:
                cursor.close()

        return self._remembered(question, given, answer)

    def permits(self, scope: Scope, as_of_us: int) -> tuple[list[gate.Permit], dict[str, Any]]:
        """What the gate answers for every type of change (see answers.gate)."""
        return self._remembered(
            gate.permits,
            (scope, as_of_us),
            lambda: gate.permits(self._all_facts(), self.rulings, scope, as_of_us),
        )

    def _all_facts(self) -> Facts:
        if self._facts is None:
            adjustments = self.rulings.adjustments(now_us())
            self._facts = Facts(Mart(self._con), self.policy, adjustments)
        return self._facts

    def _remembered(self, question: Any, given: Hashable, answer: Callable[[], T]) -> T:
        key = (question.__module__, question.__qualname__, given)
        with self._turn:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]  # type: ignore[no-any-return]
            found = answer()
            self._answers[key] = found
            if len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
            return found


@dataclass(frozen=True)
class Signature:
    """What a snapshot is one of: any difference makes it an old one."""

    root: str
    mart: str
    journal: tuple[int, ...]
    policy: tuple[int, ...]


def signature(home: Home) -> Signature:
    """The present one. Raises NothingPublished."""
    journal = _stamp(home.journal) + _stamp(home.journal.with_name(home.journal.name + "-wal"))
    return Signature(str(home.root), current(home), journal, _stamp(home.policy_in_force))


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    # An empty write-ahead log comes and goes with every look at the journal.
    return (found.st_mtime_ns, found.st_size) if found.st_size else ()


_open: dict[Signature, Snapshot] = {}
_opening = Lock()


def home() -> Home:
    """The site that the app was started for."""
    return Home.at()


def snapshot() -> Snapshot:
    """What is published now. Raises NothingPublished, HeadwayError."""
    return _opened(signature(home()))


def _opened(wanted: Signature) -> Snapshot:
    with _opening:
        if wanted not in _open:
            site = Home.at(Path(wanted.root))
            name, con = connect(site)
            _open[wanted] = Snapshot(site, name, con)
            for old in list(_open)[:-OPEN]:
                del _open[old]
        return _open[wanted]
