"""What is worth a warning though it blocks nothing: how far the published numbers can be trusted.

Each watch is a model of `sql/quality/` with a row a job or file: a part of a whole. Decisions
compare exact fractions, never rounded ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import sql
from answers.mart import Mart
from metrics.policy import Checks

WORST = 5
"""How many of the worst jobs or files are named."""


@dataclass(frozen=True)
class Watch:
    """A model, the policy's threshold for it, and what to do where it is passed."""

    name: str
    threshold: Callable[[Checks], Decimal | int]
    counts: bool
    """The value is the parts' number, not their share of the whole."""
    at_least: bool
    """The threshold is the least that is fine, not the most."""
    advice: str


WATCHES = (
    Watch(
        "quarantine_share",
        lambda checks: checks.quarantine_share,
        counts=False,
        at_least=False,
        advice="`headway quality` shows reasons and lines; mend what writes them and deliver again",
    ),
    Watch(
        "unattributed_share",
        lambda checks: checks.unattributed_share,
        counts=False,
        at_least=False,
        advice="look at the worst jobs' ledgers: records of evaluations, checkpoints or ends are "
        "missing",
    ),
    Watch(
        "silent_jobs",
        lambda checks: checks.silent_jobs,
        counts=True,
        at_least=False,
        advice="see whether these jobs still run and whether their records arrive",
    ),
    Watch(
        "coverage",
        lambda checks: checks.coverage,
        counts=False,
        at_least=True,
        advice="ask the owners of the worst jobs to write step records",
    ),
)


@dataclass(frozen=True)
class Watched:
    """What a watch found. `value` is None where there was nothing to judge: it is not known."""

    watch: Watch
    value: Fraction | None
    threshold: Fraction
    window_days: int
    worst: tuple[dict[str, Any], ...]

    @property
    def fine(self) -> bool | None:
        """Whether the threshold is kept; None where the value is not known."""
        if self.value is None:
            return None
        if self.watch.at_least:
            return self.value >= self.threshold
        return self.value <= self.threshold

    def in_words(self) -> str:
        """The value beside its threshold, and what to do where it is passed."""
        if self.value is None:
            return f"unknown: no data to judge in the newest {self.window_days} days"
        bound = "at least" if self.watch.at_least else "at most"
        said = f"{self._number(self.value)}, {bound} {self._number(self.threshold)} is fine"
        return said if self.fine else f"{said}: {self.watch.advice}"

    def _number(self, value: Fraction) -> str:
        return str(value) if self.watch.counts else f"{float(value * 100):.6g} %"


def look(mart: Mart, checks: Checks, watch: Watch) -> Watched:
    """Judge the published mart by one watch."""
    rows = mart.rows(sql.read(f"quality/{watch.name}"), {"window_us": checks.window_us})
    whole = sum(row["whole"] for row in rows)
    part = sum(row["part"] for row in rows)
    value = None if not whole else Fraction(part) if watch.counts else Fraction(part, whole)
    return Watched(
        watch, value, Fraction(watch.threshold(checks)), checks.window_days, _worst(watch, rows)
    )


def _worst(watch: Watch, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    def bad(row: dict[str, Any]) -> int:
        return int(row["whole"] - row["part"] if watch.at_least else row["part"])

    ordered = sorted(rows, key=lambda row: (-bad(row), row["name"]))
    return tuple(row for row in ordered[:WORST] if bad(row))
