"""One open mart that many requests share, replaced when something newer was published or decided.

A DuckDB connection that several threads use at once gives wrong answers, so requests take turns:
what they ask is kept in memory (see answers.facts), and a turn takes milliseconds.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from answers.clock import now_us
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import CURRENT, open_mart
from metrics.rulings import Rulings

Version = tuple[object, ...]


class Serving:
    """The facts and rulings of a home, as new as its files are."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._version: Version | None = None
        self._open = ExitStack()
        self._facts: Facts | None = None
        self._rulings: Rulings | None = None

    @contextmanager
    def turn(self) -> Iterator[tuple[Facts, Rulings]]:
        """The newest facts and rulings, for one request at a time.

        Raises NothingPublished, PolicyError or HeadwayError where they cannot be read.
        """
        with self._lock:
            version = self._seen()
            if version != self._version or self._facts is None or self._rulings is None:
                self._replace()
                self._version = version
            assert self._facts is not None
            assert self._rulings is not None
            yield self._facts, self._rulings

    def close(self) -> None:
        """Close the mart."""
        with self._lock:
            self._open.close()
            self._version = None

    def _replace(self) -> None:
        self._open.close()
        self._facts = None
        rulings = Rulings(Journal(self.home).entries(), self.home.policy())
        with ExitStack() as opening:
            mart = opening.enter_context(open_mart(self.home))
            self._facts = Facts(mart, rulings.policy, rulings.adjustments(now_us()))
            self._open = opening.pop_all()
        self._rulings = rulings

    def _seen(self) -> Version:
        """What changes whenever the mart, the journal or the policy does."""
        journal = self.home.journal
        files = (
            self.home.mart / CURRENT,
            journal,
            journal.with_name(journal.name + "-wal"),
            self.home.policy_file,
        )
        found: list[tuple[int, int, int] | None] = []
        for file in files:
            try:
                stat = file.stat()
                found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
            except FileNotFoundError:
                found.append(None)
        return tuple(found)
