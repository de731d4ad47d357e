"""Which checkpoints are proven to restore, run by run, and what a budget cannot say of that."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from answers.facts import Facts
from answers.moments import rfc3339
from metrics.budget import WINDOW_US, window_end_us
from metrics.durability import Promise, failure_rate_bound, promise, promise_of_all
from metrics.objectives import StorageFailure, standing
from metrics.scope import Scope


@dataclass(frozen=True)
class Run:
    """A large run of the window: its promise, and what proves it. Times in µs.

    `last_pass_us`: when its newest checkpoint was last restored; of older ones only the rate tells.
    `tested_steps` passed, of `completed_steps` checkpoints; `bound` is the rate that the chance of
    a failed restore is below at 95 %, None where nothing was tested.
    """

    job: str
    promise: Promise
    last_pass_us: int | None
    age_us: int | None
    passes: int
    failures: int
    bound: float | None
    tested_steps: int
    completed_steps: int
    storage_failures: tuple[StorageFailure, ...]
    is_broken_and_mended: bool

    def as_json(self) -> dict[str, Any]:
        """The run as `headway budget --detail` has it."""
        return {
            "job": self.job,
            "promise": self.promise.value,
            "last_pass": rfc3339(self.last_pass_us),
            "age_us": self.age_us,
            "passes": self.passes,
            "failures": self.failures,
            "failure_rate_below": self.bound,
            "proven_checkpoints": self.tested_steps,
            "completed_checkpoints": self.completed_steps,
            "storage_failures": [
                {
                    "at": rfc3339(failure.at_us),
                    "kind": failure.kind,
                    "lost_us": failure.lost_us,
                    "interval_us": failure.interval_us,
                    "mended_at": rfc3339(failure.mended_us),
                }
                for failure in self.storage_failures
            ],
        }


@dataclass(frozen=True)
class Durability:
    """The promise of a scope, and of each of its runs."""

    promise: Promise
    runs: tuple[Run, ...]
    passes: int
    failures: int
    bound: float | None

    @property
    def unproven(self) -> tuple[Run, ...]:
        """Runs of which nothing proves that they would restore."""
        return tuple(run for run in self.runs if run.promise is Promise.UNPROVEN)

    def as_json(self) -> dict[str, Any]:
        """The scope's figures, then its runs."""
        return {
            "promise": self.promise.value,
            "passes": self.passes,
            "failures": self.failures,
            "failure_rate_below": self.bound,
            "runs": [run.as_json() for run in self.runs],
        }


def durability(facts: Facts, scope: Scope, as_of_us: int) -> Durability:
    """The promise at a moment, over the window that ends with it; least proven runs first."""
    key = ("durability", scope, as_of_us)
    return facts.keep(key, lambda: _found(facts, scope, as_of_us))


def _found(facts: Facts, scope: Scope, as_of_us: int) -> Durability:
    saved, names = _completed(facts, as_of_us), facts.large_runs(scope, window_end_us(as_of_us))
    runs = [_run(facts, job, as_of_us, saved[job]) for job in names]
    order = [Promise.BROKEN, Promise.UNPROVEN, Promise.KEPT]
    runs.sort(key=lambda run: (order.index(run.promise), run.last_pass_us or 0, run.job))
    passes, failures = sum(r.passes for r in runs), sum(r.failures for r in runs)
    return Durability(
        promise_of_all(run.promise for run in runs),
        tuple(runs),
        passes,
        failures,
        failure_rate_bound(passes, failures),
    )


def _completed(facts: Facts, as_of_us: int) -> Counter[str]:
    rows = facts.mart.rows(
        "select job, count(distinct step) as steps from saved_checkpoints where ts_us <= ?"
        " group by job",
        [as_of_us],
    )
    return Counter({row["job"]: row["steps"] for row in rows})


def _run(facts: Facts, job: str, as_of_us: int, completed: int) -> Run:
    end_us = window_end_us(as_of_us)
    start_us = end_us - WINDOW_US
    tests = [t for t in _tests_of(facts).get(job, ()) if start_us <= t["ts_us"] <= as_of_us]
    passed = [test for test in tests if test["result"] == "pass"]
    failures = tuple(
        f for f in facts.storage_failures if f.job == job and start_us <= f.at_us < end_us
    )
    breaches = [breach for failure in failures if (breach := failure.breach)]
    is_broken = bool(standing(breaches, start_us, end_us))
    proofs = [test["ts_us"] for test in passed if test["is_newest"]]
    last_us = max(proofs, default=None)
    is_open = any(not failure.is_judged for failure in failures)
    return Run(
        job,
        promise(is_broken, bool(proofs), is_open),
        last_us,
        None if last_us is None else as_of_us - last_us,
        len(passed),
        len(tests) - len(passed),
        failure_rate_bound(len(passed), len(tests) - len(passed)),
        len({test["step"] for test in passed}),
        completed,
        failures,
        bool(breaches) and not is_broken,
    )


def _tests_of(facts: Facts) -> dict[str, list[dict[str, Any]]]:
    def by_job() -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for test in facts.restore_tests:
            found.setdefault(test["job"], []).append(test)
        return found

    return facts.keep(("tests",), by_job)
