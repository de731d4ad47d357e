"""One open mart that many requests share, replaced when something newer was published or decided.

A DuckDB connection that several threads use at once gives wrong answers, so requests take turns:
what they ask is kept in memory (see answers.facts), and a turn takes milliseconds. What people
decide acts at the next turn. A newer mart is read beside the old one, which answers until then.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from answers.clock import now_us
from answers.facts import Facts
from answers.freezes import course
from answers.home import Home
from answers.journal import Journal
from answers.mart import CURRENT, open_mart
from metrics.adjustments import Adjustments
from metrics.errors import HeadwayError
from metrics.policy import Policy
from metrics.rulings import Rulings
from metrics.scope import Scope

Version = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class _Loaded:
    """An open mart under a policy and adjustments, and the version of CURRENT that it is of."""

    facts: Facts
    version: Version
    opened: ExitStack


class Serving:
    """The facts and rulings of a home, as new as its files are."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._loading: threading.Thread | None = None
        self._ruled: tuple[Version, Rulings] | None = None

    @contextmanager
    def turn(self) -> Iterator[tuple[Facts, Rulings]]:
        """The newest facts and rulings, for one request at a time.

        Raises NothingPublished, PolicyError or HeadwayError where they cannot be read.
        """
        with self._lock:
            rulings = self._rulings()
            yield self._facts(rulings), rulings

    def close(self) -> None:
        """Close the mart."""
        with self._lock:
            if self._loaded:
                self._loaded.opened.close()
            self._loaded = None

    def _rulings(self) -> Rulings:
        journal, policy = self.home.journal, self.home.policy_file
        version = _version(journal, journal.with_name(journal.name + "-wal"), policy)
        if self._ruled is None or self._ruled[0] != version:
            self._ruled = (version, Rulings(Journal(self.home).entries(), self.home.policy()))
        return self._ruled[1]

    def _facts(self, rulings: Rulings) -> Facts:
        policy, adjustments = rulings.policy, rulings.adjustments(now_us())
        loaded = self._loaded
        if (
            loaded is None
            or loaded.facts.policy != policy
            or loaded.facts.adjustments != adjustments
        ):
            loaded = self._swap(self._load(policy, adjustments))
        elif loaded.version != self._published() and self._loading is None:
            self._loading = threading.Thread(
                target=self._load_beside, args=(policy, adjustments), daemon=True
            )
            self._loading.start()
        return loaded.facts

    def _load_beside(self, policy: Policy, adjustments: Adjustments) -> None:
        try:
            fresh = self._load(policy, adjustments)
            with self._lock:
                self._swap(fresh)
        except HeadwayError as e:
            # The old one answers on until its data are too old; the next turn tries anew.
            logging.getLogger(__name__).warning("what was published last is not read: %s", e)
        finally:
            self._loading = None

    def _load(self, policy: Policy, adjustments: Adjustments) -> _Loaded:
        version = self._published()
        with ExitStack() as opening:
            mart = opening.enter_context(open_mart(self.home))
            facts = Facts(mart, policy, adjustments)
            # What every first question would wait for, asked before anybody does.
            course(facts, Scope(), now_us())
            return _Loaded(facts, version, opening.pop_all())

    def _swap(self, fresh: _Loaded) -> _Loaded:
        if self._loaded:
            self._loaded.opened.close()
        self._loaded = fresh
        return fresh

    def _published(self) -> Version:
        return _version(self.home.mart / CURRENT)


def _version(*files: Path) -> Version:
    """What changes whenever one of the files does."""
    found: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            stat = file.stat()
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)
