"""Numbers of a chunk, told from what only looks like one; pure, so that every rule has its test.

A chunk is [from, until) on a grid of steps. What came shortly before it is asked for as well: a
counter grows from it, and a gap may have begun there. So a number is the same however time is cut
into chunks.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from metrics.collecting import SampleQuery
from metrics.errors import UsageError
from pipelines.prometheus.asking import Labels, Series

ALLOWED_LABELS = ("cluster_queue", "gpu", "node", "priority_class", "rack", "status", "tier")
"""The labels that may be stored. Others could hold a person's, a pod's or a command's name."""


def _sum(values: Sequence[float]) -> float:
    """Their sum, rounded once; infinite where it is past every number."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": _sum,
    "avg": lambda values: _sum(values) / len(values),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class Grid:
    """The moments of a chunk, in seconds: from first_s on, before until_s, step_s apart.

    A series that said nothing for longer than `remember_s` has ended; another may begin.
    """

    first_s: int
    until_s: int
    step_s: int
    remember_s: int = 0

    @property
    def moments(self) -> range:
        """Every moment of the chunk."""
        return range(self.first_s, self.until_s, self.step_s)

    @property
    def heard(self) -> range:
        """Those, and the moments before them that are remembered: one at least."""
        remembered = max(-(-self.remember_s // self.step_s), 1) * self.step_s
        return range(self.first_s - remembered, self.until_s, self.step_s)

    def remembers(self, then_s: int, now_s: int) -> bool:
        """Whether a number of then still counts as the series' last one now."""
        return now_s - then_s <= max(self.remember_s, self.step_s)


@dataclass
class Counts:
    """What a chunk held, and what of it was no number."""

    points: int = 0
    used: int = 0
    gaps: int = 0
    gap_s: int = 0
    counter_resets: int = 0
    sentinels: int = 0
    not_numbers: int = 0
    dropped_labels: int = 0
    records: int = 0

    def gap(self, moments: int, step_s: int) -> None:
        """Count one stretch without a word, so many moments long."""
        if moments:
            self.gaps += 1
            self.gap_s += moments * step_s


@dataclass(frozen=True)
class Clean:
    """A series: its allow-listed labels, and its numbers by second."""

    labels: Labels
    numbers: dict[int, float] = field(default_factory=dict)


def clean(
    found: Iterable[Series],
    grid: Grid,
    sentinels: frozenset[float],
    aliases: Mapping[str, str],
    counts: Counts,
    counter: bool = False,
) -> list[Clean]:
    """The numbers of each series; of a counter, by how much it grew since the number before.

    Gaps are those of what the allow-listed labels name, such as a GPU: that another pod has it from
    now on ends one series and begins another, and is none.
    """
    cleaned = []
    heard: dict[tuple[tuple[str, str], ...], set[int]] = defaultdict(set)
    for series in found:
        labels = _allowed(series.labels, aliases, counts)
        numbers = _numbers(series, grid, sentinels, counts)
        heard[tuple(labels.items())].update(numbers)
        if counter:
            numbers = growth(numbers, grid, counts)
        inside = {at: value for at, value in numbers.items() if at >= grid.first_s}
        cleaned.append(Clean(labels, inside))
    for moments in heard.values():
        _count_gaps(moments, grid, counts)
    return cleaned


def _numbers(
    series: Series, grid: Grid, sentinels: frozenset[float], counts: Counts
) -> dict[int, float]:
    numbers = {}
    for at, value in series.values:
        inside = at >= grid.first_s
        counts.points += inside
        if not math.isfinite(value):
            counts.not_numbers += inside
        elif value in sentinels:
            counts.sentinels += inside
        else:
            numbers[at] = value
    return numbers


def _count_gaps(heard: set[int], grid: Grid, counts: Counts) -> None:
    """Count the moments of the chunk without a number, while there is one to remember.

    A gap counts where it begins, so that one over a chunk's end is one.
    """
    last: int | None = None
    for at in grid.heard:
        if at in heard:
            last = at
        elif at >= grid.first_s and last is not None and grid.remembers(last, at):
            counts.gaps += at - last == grid.step_s
            counts.gap_s += grid.step_s


def growth(numbers: Mapping[int, float], grid: Grid, counts: Counts) -> dict[int, float]:
    """By how much a counter grew since the number before; without one that is remembered, a number
    says nothing.

    A counter that is smaller than before began anew at 0 (Prometheus' own rule for rate()).
    """
    grown: dict[int, float] = {}
    for (then, before), (at, value) in pairwise(numbers.items()):
        if grid.remembers(then, at):
            counts.counter_resets += value < before and at >= grid.first_s
            grown[at] = value if value < before else value - before
    return grown


def _allowed(labels: Labels, aliases: Mapping[str, str], counts: Counts) -> Labels:
    named = {aliases.get(name, name): value for name, value in labels.items()}
    kept = {name: named[name] for name in ALLOWED_LABELS if name in named}
    counts.dropped_labels += len(labels.keys() - {"__name__"}) - len(kept)
    return kept


def combined(
    name: str, query: SampleQuery, cleaned: Iterable[Clean], counts: Counts
) -> dict[str, dict[int, float]]:
    """The numbers to keep: {labels as JSON: {second: value}}, series that agree in `by` combined.

    A moment at which none of them says a number has none, and neither has one whose sum is past
    every number. Raises UsageError where a label of `by` is on no series.
    """
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for series in cleaned:
        missing = [label for label in query.by if label not in series.labels]
        if missing:
            raise UsageError(
                f"query {name}: a series has no label {missing[0]}; say what it is called there"
                " (prometheus.aliases), or take it out of by"
            )
        key = json.dumps({label: series.labels[label] for label in sorted(query.by)})
        for at, value in series.numbers.items():
            found[key][at].append(value)
    return {key: _combined(moments, query, counts) for key, moments in found.items()}


def _combined(
    moments: Mapping[int, list[float]], query: SampleQuery, counts: Counts
) -> dict[int, float]:
    every = {at: COMBINE[query.combine](values) for at, values in sorted(moments.items())}
    kept = {at: value for at, value in every.items() if math.isfinite(value)}
    counts.used += len(kept)
    counts.not_numbers += len(every) - len(kept)
    return kept
