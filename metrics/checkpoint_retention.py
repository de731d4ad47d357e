"""Which checkpoints to keep: the newest few, and ever fewer the older they are.

Checkpoints are known by their age in saves: 0 is the newest, k was saved k intervals before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

HOUR_S = 3600
DAY_S = 24 * HOUR_S


@dataclass(frozen=True)
class Rule:
    """Keep the newest checkpoint of each of the last `count` spans of `every_s` seconds.

    Spans are counted back from the newest checkpoint; `every_s` 0 keeps the newest `count`.
    """

    name: str
    purpose: str
    count: int
    every_s: float

    def kept(self, interval_s: float, saved: int) -> Iterator[int]:
        """The ages, in saves, of what the rule keeps of `saved` checkpoints."""
        if not self.every_s:
            yield from range(min(self.count, saved))
            return
        for span in range(self.count):
            age = ceil(span * self.every_s / interval_s)
            if age >= saved:
                return
            if age * interval_s < (span + 1) * self.every_s:
                yield age


@dataclass(frozen=True)
class Milestones(Rule):
    """Keep for the whole run the last checkpoint before each `every_s` of it, at most `count`."""

    def kept(self, interval_s: float, saved: int) -> Iterator[int]:
        """The ages, in saves: spans are counted from the beginning of the run."""
        for span in range(1, self.count + 1):
            number = int(span * self.every_s / interval_s)
            if number > saved:
                return
            if number:
                yield saved - number


@dataclass(frozen=True)
class Kept:
    """What a rule keeps: how many, of them those that no rule before it keeps, and how far back."""

    rule: Rule
    count: int
    only_here: int
    oldest_s: float


def retention(rules: Sequence[Rule], interval_s: float, saved: int) -> list[Kept]:
    """What each rule keeps once so many checkpoints were saved; `only_here` sums to all kept."""
    seen: set[int] = set()
    found = []
    for rule in rules:
        ages = set(rule.kept(interval_s, saved))
        oldest_s = max(ages, default=0) * interval_s
        found.append(Kept(rule, len(ages), len(ages - seen), oldest_s))
        seen |= ages
    return found
