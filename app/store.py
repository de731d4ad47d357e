"""What pages read: a published mart, opened once for all sessions, and the journal beside it.

A `Snapshot` is one published file under one journal and one policy; it never changes. When CURRENT
names another file, or somebody decides something, the next look gives a new one and the old one
goes once nobody holds it. One connection shared by threads gives wrong answers silently: plain
questions take a cursor a call, and those on the connection's own tables take turns. `Snapshot.at`
is the same as it stood at a moment of the past.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
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
from answers.past import cut
from metrics.policy import Policy
from metrics.rulings import Rulings
from metrics.scope import Scope

REMEMBERED = 96
"""Answers kept a snapshot: small frames, so that going back to a page costs nothing."""

OPEN = 2
"""Snapshots kept open: the newest, and the one that pages being drawn still hold."""

PAST = 4
"""Moments of the past kept a snapshot: each holds tables of its own."""

T = TypeVar("T")


class Snapshot:
    """One published file under one journal and one policy."""

    def __init__(
        self,
        home: Home,
        name: str,
        con: duckdb.DuckDBPyConnection,
        policy: Policy,
        rulings: Rulings,
    ) -> None:
        self.home, self.name = home, name
        self.policy, self.rulings = policy, rulings
        self._con = con
        self.meta: Meta = Mart(con).meta()
        self._facts: Facts | None = None
        self._turn = RLock()
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._past: OrderedDict[int, Snapshot] = OrderedDict()

    @classmethod
    def opened(cls, home: Home) -> "Snapshot":
        """What is published now at a site."""
        name, con = connect(home)
        policy = home.policy()
        return cls(home, name, con, policy, Rulings(Journal(home).entries(), policy))

    def at(self, until_us: int) -> "Snapshot":
        """The same as it stood at the end of an hour; itself where nothing of it came later."""
        if self.meta.as_of_us is None or until_us >= self.meta.as_of_us:
            return self
        with self._turn:
            if until_us not in self._past:
                con = self._con.cursor()
                cut(Mart(con), until_us)
                self._past[until_us] = Past(self.home, self.name, con, self.policy, self.rulings)
                if len(self._past) > PAST:
                    self._past.popitem(last=False)
            self._past.move_to_end(until_us)
            return self._past[until_us]

    def ask(self, question: Callable[..., T], *given: Hashable) -> T:
        """The answer of `question(facts, *given)`, remembered."""
        return self._remembered(question, given, lambda: question(self._all_facts(), *given))

    def read(self, question: Callable[..., T], *given: Hashable) -> T:
        """The answer of `question(mart, *given)`, read through a cursor of its own, remembered."""

        def answer() -> T:
            with self._mart() as mart:
                return question(mart, *given)

        return self._remembered(question, given, answer)

    @contextmanager
    def _mart(self) -> Iterator[Mart]:
        cursor = self._con.cursor()
        try:
            yield Mart(cursor)
        finally:
            cursor.close()

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
                known: T = self._answers[key]
                return known
            found = answer()
            self._answers[key] = found
            if len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
            return found


class Past(Snapshot):
    """A snapshot as it stood at a moment: its tables are this connection's own."""

    @contextmanager
    def _mart(self) -> Iterator[Mart]:
        yield Mart(self._con)  # whoever asks has the turn


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
            _open[wanted] = Snapshot.opened(Home.at(Path(wanted.root)))
            for old in list(_open)[:-OPEN]:
                del _open[old]
        return _open[wanted]
