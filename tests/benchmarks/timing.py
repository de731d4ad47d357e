"""How the benchmarks measure and print: alternating repetitions, child processes, one table."""

import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

_STARTED = time.monotonic()


@dataclass(frozen=True)
class Spent:
    """What an act took: seconds by the clock, and seconds of all cores together."""

    wall_s: float
    cpu_s: float

    def least(self, other: "Spent") -> "Spent":
        """The smaller of each."""
        return Spent(min(self.wall_s, other.wall_s), min(self.cpu_s, other.cpu_s))

    def less(self, other: "Spent") -> "Spent":
        """What remains without a part of it."""
        return Spent(self.wall_s - other.wall_s, self.cpu_s - other.cpu_s)


@dataclass(frozen=True)
class Row:
    """One line of the table: what two sides took, the least of `repetitions` each.

    The ratio is ours by theirs, or with `is_speed` how many times faster: the other way round.
    `target` bounds it: at most, or with `is_speed` at least. `note` says what else was measured.
    """

    what: str
    ours: Spent
    theirs_name: str
    theirs: Spent
    repetitions: int
    target: float | None = None
    is_speed: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """The two times by the clock as one number."""
        return self._ratio(self.ours.wall_s, self.theirs.wall_s)

    @property
    def cpu_ratio(self) -> float:
        """The two times of all cores as one number."""
        return self._ratio(self.ours.cpu_s, self.theirs.cpu_s)

    def _ratio(self, ours_s: float, theirs_s: float) -> float:
        return theirs_s / ours_s if self.is_speed else ours_s / theirs_s


def alternating(repetitions: int, *acts: Callable[[], object]) -> list[Spent]:
    """The least that each act took, all of them run in turn, so often."""
    least = [Spent(float("inf"), float("inf"))] * len(acts)
    for _ in range(repetitions):
        for place, act in enumerate(acts):
            least[place] = least[place].least(spent(act))
    return least


def spent(act: Callable[[], object]) -> Spent:
    """What one call takes."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    act()
    return Spent(time.perf_counter() - wall_s, time.process_time() - cpu_s)


def in_child(function: Callable[..., Any], *arguments: Any) -> tuple[Any, int]:
    """What the function returns in a new process, and that process's peak memory in bytes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_with_peak, function, arguments).result()


def _with_peak(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, int]:
    value = function(*arguments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return value, peak if sys.platform == "darwin" else peak * 1024


def say(text: str) -> None:
    """Tell on stderr what is going on, with the seconds since this process began to measure."""
    print(f"[{time.monotonic() - _STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """The machine in a line: what a time on it means."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    busy = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB memory, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, load {busy:.1f} at the start"
    )


def show(title: str, rows: list[Row], notes: list[str]) -> None:
    """Print the rows of one measurement as a table, and what has to be said of it beneath."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("Headway", justify="right")
    table.add_column("against")
    table.add_column("its time", justify="right")
    table.add_column("ratio", justify="right")
    table.add_column("target", justify="right")
    table.add_column("CPU ratio", justify="right")
    table.add_column("min of", justify="right")
    table.add_column("beside it")
    for row in rows:
        table.add_row(
            row.what,
            _duration(row.ours.wall_s),
            row.theirs_name,
            _duration(row.theirs.wall_s),
            _times(row.ratio),
            _target(row),
            _times(row.cpu_ratio),
            str(row.repetitions),
            row.note,
        )
    console = Console(width=None if sys.stdout.isatty() else 170, highlight=False)
    console.print(table if rows else title)
    for note in notes:
        console.print(f"  {note}", soft_wrap=True)
    console.print()


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    sign = "≥" if row.is_speed else "≤"
    missed = row.ratio < row.target if row.is_speed else row.ratio > row.target
    return f"{sign} {row.target:g}x {'missed' if missed else 'met'}"


def _times(ratio: float) -> str:
    return f"{ratio:.3f}x" if ratio < 1 else f"{ratio:.1f}x"


def _duration(seconds_taken: float) -> str:
    return f"{seconds_taken * 1e3:.0f} ms" if seconds_taken < 1 else f"{seconds_taken:.2f} s"
