"""Old steps are dropped and what they painted is kept, so that the store stops growing.

A job's hours before `folded_until_us` are folded: what was painted in them stands for good, also in
a rebuild, and ingestion refuses records that would change them. Labels and baselines of a job that
goes on are still derived from its beginning, so the few steps that those are read from stay (see
`sql/folding/droppable_groups.sql`). A job that ended before the horizon is closed: all that was
derived of it stands as it is, and nothing of it is derived again. What has just arrived is not
folded, however old it is: a job's records may come in several deliveries.
"""

from dataclasses import asdict, dataclass

import duckdb

import sql
from answers.clock import now_us
from metrics.conventions import HOUR_US
from metrics.errors import UsageError
from metrics.policy import Retention
from pipelines.warehouse import one_row

_OF_CLOSED_JOBS = ("contexts", "painted_gaps", "baselines")
"""What only derivation reads; pages read all else of a closed job, too."""


@dataclass(frozen=True)
class Horizon:
    """What is old: hours before `horizon_us`, of files that arrived before `arrived_before_us`."""

    horizon_us: int
    arrived_before_us: int

    @classmethod
    def at(cls, as_of_us: int, retention: Retention) -> "Horizon":
        """The horizon of now.

        Counted from as_of or from the clock, whichever is earlier: one record stamped far ahead
        must not cost the steps of today.
        """
        clock_us = now_us()
        latest_us = min(as_of_us, clock_us) - retention.steps_us
        return cls(latest_us // HOUR_US * HOUR_US, clock_us - retention.arrival_us)


def refuse_folded(con: duckdb.DuckDBPyConnection, as_of_us: int) -> None:
    """Raise UsageError where what was recorded up to as_of is not there any more to be read."""
    (folded_until_us,) = one_row(con, "select max(folded_until_us) from folds")
    if folded_until_us is not None and as_of_us < folded_until_us:
        raise UsageError(
            "--as-of: steps of that time were folded into the ledger and dropped; the earliest"
            f" as-of is {_words(con, folded_until_us)} (retention in the policy)"
        )


def _words(con: duckdb.DuckDBPyConnection, us: int) -> str:
    (text,) = one_row(con, "select strftime(make_timestamp(?), '%Y-%m-%dT%H:%M:%SZ')", [us])
    return str(text)


def fold(con: duckdb.DuckDBPyConnection, horizon: Horizon) -> int:
    """Fold what is older than the horizon; the number of steps dropped.

    Called at the end of a derivation, in its transaction, whose temporary tables it reads.
    """
    given = asdict(horizon)
    (is_old,) = one_row(
        con,
        "select exists (from job_facts where last_record_us < $horizon_us)"
        " or exists (from step_groups where hour_us < $horizon_us)",
        {"horizon_us": horizon.horizon_us},
    )
    if not is_old:
        return 0
    con.execute(f"create or replace temp table closing as {sql.read('folding/closed_jobs')}", given)
    con.execute(
        "insert or replace into folds"
        f" select job_id, folded_until_us, false from ({sql.read('folding/foldable_hours')})",
        given,
    )
    con.execute(
        "insert or replace into folds select job_id, ?, true from closing", [horizon.horizon_us]
    )
    con.execute(f"create or replace temp table droppable as {sql.read('folding/droppable_groups')}")
    (dropped,) = one_row(con, "select count(*) from steps semi join droppable using (group_id)")
    if dropped:
        con.execute("delete from steps where group_id in (from droppable)")
    for name in _OF_CLOSED_JOBS:
        con.execute(f"delete from {name} where job_id in (from closing)")
    return int(dropped)
