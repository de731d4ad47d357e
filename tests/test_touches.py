"""What a refresh derives anew: only the hours of a job that the new records change.

Two jobs take a step every ten minutes from midnight on, and records of one come late. After each
delivery everything equals what a rebuild gives.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import harness
import pytest
import streams

HOUR_US = streams.HOUR_US
MINUTE_US = 60 * streams.SECOND_US
MIDNIGHT_US = streams.BASE_US

Hours = set[tuple[str, int]]


def at(hour: int, minute: int = 0) -> int:
    return MIDNIGHT_US + hour * HOUR_US + minute * MINUTE_US


def steps(
    job: str, hours: range, attempt: int = 0, first_step: int | None = None
) -> list[dict[str, Any]]:
    """Six steps in each of the hours, ending at minutes 10, 20, … 60."""
    moments = [at(hour, minute) for hour in hours for minute in range(10, 61, 10)]
    start = 6 * hours.start + 1 if first_step is None else first_step
    return [
        {
            "job": job,
            "attempt": attempt,
            "step": start + place,
            "ts_us": ts_us,
            "duration_us": 10 * MINUTE_US,
        }
        for place, ts_us in enumerate(moments)
    ]


def event(name: str, ts_us: int, **fields: Any) -> dict[str, Any]:
    return {"event": name, "ts_us": ts_us} | fields


class Touched:
    """A warehouse, and what each delivery made a refresh derive anew."""

    def __init__(self, con: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self.con = con
        self.folder = folder

    def by(self, lifecycle: list[dict[str, Any]], steps: list[dict[str, Any]]) -> Hours:
        """Deliver and refresh; the hours whose ledger was written, by job and number since 0."""
        harness.deliver(self.con, self.folder, lifecycle, steps)
        harness.rederive(self.con)
        found = self._hours("changed_hours")
        self.painted = self._hours("dirty_contexts")
        answers = harness.answers(self.con)
        harness.rederive(self.con, rebuild=True)
        assert harness.answers(self.con) == answers
        return found

    def _hours(self, table: str) -> Hours:
        rows = self.con.execute(f"select job, hour_us from {table} join jobs using (job_id)")
        return {(job, (us - MIDNIGHT_US) // HOUR_US) for job, us in rows.fetchall()}


@pytest.fixture
def touched(tmp_path: Path) -> Iterator[Touched]:
    with harness.fresh_warehouse() as con:
        yield Touched(con, tmp_path)


def hours(job: str, *numbers: int) -> Hours:
    return {(job, number) for number in numbers}


def test_a_roll_back_over_midnight_touches_the_hours_whose_steps_were_lost(touched) -> None:
    # Attempt 0 takes steps 1 to 150, the last at 25:00; attempt 1 goes on after step 135 (22:30).
    both = steps("job", range(25)) + steps("other", range(26))
    touched.by([event("resources_allocated", at(0), job="job", attempt=0)], both)
    again = steps("job", range(25, 26), attempt=1, first_step=136)
    # 22 and 23 lie before midnight, 24 after it; in 25 the new steps end.
    assert touched.by([], again) == hours("job", 22, 23, 24, 25)
    assert touched.painted == hours("job", 22, 23, 24, 25)


def test_a_step_that_arrives_twenty_days_late_touches_its_hour(touched) -> None:
    days = range(21 * 24)
    held_back = steps("job", days)[100]
    rest = [step for step in steps("job", days) if step != held_back]
    touched.by([], rest + steps("other", days))
    assert touched.by([], [held_back]) == hours("job", 100 // 6)


def test_a_late_last_step_of_an_hour_touches_the_next_one_too(touched) -> None:
    # The step after it begins at its end, in the next hour.
    held_back = steps("job", range(10))[6 * 4 + 5]
    rest = [step for step in steps("job", range(10)) if step != held_back]
    touched.by([], rest + steps("other", range(10)))
    assert touched.by([], [held_back]) == hours("job", 4, 5)


def test_a_window_that_closes_after_the_fact_touches_what_it_no_longer_covers(touched) -> None:
    # Announced for the job alone at 3:30, open when as_of was 10:00; its end at 5:30 comes later.
    start = event("maintenance_started", at(3, 30), id="m", jobs=["job"])
    touched.by([start], steps("job", range(10)) + steps("other", range(10)))
    end = event("maintenance_ended", at(5, 30), id="m")
    # Labels differ from 5:30 to 10:00; painted again is only the hour in which they now change.
    assert touched.by([end], []) == hours("job", 5, 6, 7, 8, 9)
    assert touched.painted == hours("job", 5)


def test_a_job_that_speaks_again_touches_its_silence(touched) -> None:
    # Silent from 3:00 on, when the other is at 14:00; then it takes a step that ends at 15:10, and
    # so far the other goes on without a record.
    touched.by([], steps("job", range(3)) + steps("other", range(14)))
    assert harness.walls(touched.con)[0] == ("job", at(0), at(3), True, True)
    speaks = steps("job", range(15, 16), first_step=19)[:1]
    assert touched.by([], speaks) == hours("job", *range(3, 16)) | hours("other", 14, 15)
    assert touched.painted == hours("job", 15)


def test_another_cause_touches_the_restart_and_what_was_lost_to_it(touched) -> None:
    # Attempt 0 ends at 4:00 with step 24, is interrupted at 4:20, and attempt 1 resumes after 21.
    lifecycle = [
        event("interruption", at(4, 20), job="job", attempt=0, cause="job_error"),
        event("resources_allocated", at(6, 5), job="job", attempt=1),
    ]
    again = steps("job", range(7, 20), attempt=1, first_step=22)
    touched.by(lifecycle, steps("job", range(4)) + again + steps("other", range(20)))
    assert touched.by(
        [event("interruption", at(4, 10), job="job", attempt=0, cause="hardware")], []
    ) == hours("job", 3, 4)
    # Steps 22 to 24, lost in hour 3, follow the first cause; from 4:20 on the latest one holds.
    assert touched.painted == hours("job", 3)
    assert harness.totals(touched.con, "job")["restart", "rework", "hardware"] == 30 * MINUTE_US


def test_what_brings_nothing_new_touches_nothing(touched) -> None:
    both = steps("job", range(5)) + steps("other", range(5))
    touched.by([], both)
    harness.rederive(touched.con)
    assert touched.by([], both[3:7]) == set()
    assert touched.painted == set()
