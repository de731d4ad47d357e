"""Small fleets for the tests of budgets and the gate: hours after a whole day in, a home out.

Records are dictionaries in µs, as `harness.deliver` takes them, and go the whole way: ingestion,
derivation, publication.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness

from answers.budgets import Report, reports
from answers.facts import Facts
from answers.home import Home
from answers.mart import open_mart
from metrics.adjustments import Adjustments
from metrics.policy import Policy
from metrics.scope import Scope
from pipelines.publish import publish

HOUR_US = 3_600_000_000
BASE_US = 1_772_323_200_000_000
"""2026-03-01T00:00:00Z, where hour 0 lies."""

Record = dict[str, Any]


def at(hours: float, us: int = 0) -> int:
    """The moment so many hours, and µs, after the base."""
    return BASE_US + round(hours * HOUR_US) + us


def stamp(hours: float) -> str:
    """The same as RFC 3339 text."""
    return harness.stamp(at(hours))


class Fleet:
    """Records of jobs, to be told and then published."""

    def __init__(self) -> None:
        self.lifecycle: list[Record] = []
        self.steps: list[Record] = []

    def tell(self, event: str, when_us: int, job: str | None = "big", **fields: Any) -> None:
        """A lifecycle record."""
        named = {} if job is None else {"job": job}
        self.lifecycle.append({"event": event, "ts_us": when_us, **named, **fields})

    def submit(self, hours: float, job: str = "big", **fields: Any) -> None:
        """A submission: 8 GPUs for 30 days in the standard tier, unless said otherwise."""
        usual = {"tier": "standard", "gpus": 8, "expected_duration_us": 720 * HOUR_US}
        self.tell("job_submitted", at(hours), job, **(usual | fields))

    def allocate(self, hours: float, job: str = "big", attempt: int = 0) -> None:
        """The gang holds its GPUs."""
        self.tell("resources_allocated", at(hours), job, attempt=attempt)

    def step(
        self, end_us: int, length_us: int, number: int, job: str = "big", attempt: int = 0
    ) -> None:
        """One step."""
        self.steps.append(
            {
                "job": job,
                "attempt": attempt,
                "step": number,
                "ts_us": end_us,
                "duration_us": length_us,
            }
        )

    def train(
        self, start: float, count: int, job: str = "big", attempt: int = 0, number: int = 1
    ) -> None:
        """Steps of an hour each; the first of an attempt is not painted."""
        for n in range(count):
            self.step(at(start + n + 1), HOUR_US, number + n, job, attempt)

    def interrupt(
        self, hours: float, cause: str, job: str = "big", attempt: int = 0, **fields: Any
    ) -> None:
        """The attempt stopped."""
        self.tell("interruption", at(hours), job, attempt=attempt, cause=cause, **fields)

    def end(self, hours: float, job: str = "big", outcome: str = "completed") -> None:
        """The job ended."""
        self.tell("job_ended", at(hours), job, outcome=outcome)

    def publish(self, folder: Path, policy: Policy = harness.POLICY) -> Home:
        """Ingest, derive and publish into a home of its own below the folder."""
        home = Home.open(folder / "home")
        inbox = folder / "inbox"
        inbox.mkdir(exist_ok=True)
        con = harness.fresh_warehouse()
        try:
            harness.deliver(con, inbox, self.lifecycle, self.steps)
            harness.rederive(con)
            publish(con, home, policy, as_of_given=False)
        finally:
            con.close()
        return home


def lost_72_of_720(gpus: int = 8, spared_us: int = 0) -> Fleet:
    """A job of 720 h that lost 72 h, less `spared_us`: exactly what 90 % allows.

    An hour of startup until its first step; 648 steps of an hour, the last one longer by what is
    spared; down to hardware from there to its end at hour 720, 71 h less what is spared.
    """
    fleet = Fleet()
    fleet.submit(0, gpus=gpus)
    fleet.allocate(0)
    fleet.train(0, 648)
    fleet.step(at(649, spared_us), HOUR_US + spared_us, 649)
    fleet.tell("interruption", at(649, spared_us), attempt=0, cause="hardware")
    fleet.end(720)
    return fleet


@contextmanager
def facts(
    home: Home, policy: Policy = harness.POLICY, adjustments: Adjustments | None = None
) -> Iterator[Facts]:
    """The facts of what was published."""
    with open_mart(home) as mart:
        yield Facts(mart, policy, adjustments or Adjustments())


def report(
    home: Home,
    slo: str,
    scope: str = "fleet",
    as_of: float = 720,
    policy: Policy = harness.POLICY,
    adjustments: Adjustments | None = None,
) -> dict[str, Any]:
    """One budget as JSON; of several the first."""
    with facts(home, policy, adjustments) as found:
        return _first(reports(found, Scope.parse(scope), at(as_of), slo)).as_json()


def _first(found: list[Report]) -> Report:
    return found[0]
