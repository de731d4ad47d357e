"""Whether checkpoints would restore: the promise of a run, how far it is proven, what to test next.

A promise is kept where a restore was proven and no storage failure cost more than one checkpoint
interval; where nothing was restored it is unproven, whatever else went well.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

CONFIDENCE_LEFT = (1, 20)
"""5 %: the chance to see so few failures although the rate is at the bound."""

_GRID_BITS = 40


class Promise(enum.StrEnum):
    """What is known of a run's promise."""

    KEPT = "kept"
    BROKEN = "broken"
    UNPROVEN = "unproven"


def promise(is_broken: bool, is_proven: bool, is_open: bool = False) -> Promise:
    """A run's promise. `is_open`: of a storage failure it is not known what it cost."""
    if is_broken:
        return Promise.BROKEN
    return Promise.KEPT if is_proven and not is_open else Promise.UNPROVEN


def promise_of_all(promises: Iterable[Promise]) -> Promise:
    """A fleet's promise: broken by any run, and kept only where all keep it."""
    found = set(promises)
    if Promise.BROKEN in found:
        return Promise.BROKEN
    return Promise.KEPT if found == {Promise.KEPT} else Promise.UNPROVEN


def failure_rate_bound(passes: int, failures: int) -> float | None:
    """The rate that the failure rate is below, at 95 %; None where nothing was tested.

    Clopper–Pearson (Biometrika 26, 1934), one-sided: the p for which so few failures have a chance
    of 5 %. Without a failure that is 1 − 0.05^(1/n). Tests count as independent.
    """
    tests = passes + failures
    if not tests:
        return None
    if not failures:
        return 1 - float(0.05 ** (1 / tests))
    return 1.0 if not passes else _upper(tests, failures)


def _upper(tests: int, failures: int) -> float:
    """Bisect the binomial's lower tail, in integers: each p is a number of 2^-40."""
    whole, (part, of) = 1 << _GRID_BITS, CONFIDENCE_LEFT
    low, high = 0, whole
    while high - low > 1:
        p = (low + high) // 2
        if of * _tail(tests, failures, p, whole) > part * whole**tests:
            low = p
        else:
            high = p
    return high / whole


def _tail(tests: int, most: int, p: int, whole: int) -> int:
    """P(X <= most) times whole^tests: q^(n−k) × Σ C(n, i) p^i q^(k−i)."""
    q = whole - p
    head = sum(comb(tests, i) * p**i * q ** (most - i) for i in range(most + 1))
    return int(head * q ** (tests - most))


@dataclass(frozen=True)
class Candidate:
    """A run whose newest checkpoint may be tested; `proven_us`: its last passing test, if any.

    `bytes` is what a test would read, None where that is not known; `hindrance` says why it cannot
    be tested at all.
    """

    job: str
    proven_us: int | None
    bytes: int | None = None
    hindrance: str | None = None


@dataclass(frozen=True)
class Plan:
    """Which runs are tested now, in order, and which of those due are not, with the reason."""

    tested: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def plan_tests(
    candidates: Sequence[Candidate], now_us: int, every_us: int, bytes_per_run: int | None
) -> Plan:
    """Runs without a proof first, then the oldest proof, as long as the bytes allow.

    Due is what has no passing test, or whose last one is at least `every_us` old. A run too large
    for what is left of the bytes lets smaller ones pass; only one of unknown size needs all of it.
    """
    due = [c for c in candidates if c.proven_us is None or now_us - c.proven_us >= every_us]
    left, tested, left_out = bytes_per_run, [], []
    for run in sorted(due, key=lambda c: (c.proven_us is not None, c.proven_us or 0, c.job)):
        needed = run.bytes if run.bytes is not None or left is None else bytes_per_run
        if run.hindrance is not None:
            left_out.append((run.job, run.hindrance))
        elif left is not None and needed is not None and needed > left:
            left_out.append((run.job, f"bandwidth: {needed:,} bytes, {left:,} left of this run's"))
        else:
            tested.append(run.job)
            left = None if left is None else left - (needed or 0)
    return Plan(tuple(tested), tuple(left_out))
