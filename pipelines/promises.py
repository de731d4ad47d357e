"""The cluster's side of what is published: who waits and why, loans of GPUs, and every contract.

It is made from raw records and from what was just published, so it needs nothing of a refresh and
equals what a rebuild gives. The policy's numbers are put beside the records as small tables.
"""

import duckdb
import pyarrow as pa

import sql
from metrics.contracts import CONTRACTS
from metrics.policy import Policy

_STEPS = ("holds", "preemptions", "losses", "judged_losses")
"""What several contracts are read from, in order; kept for the publication only."""


def publish_promises(con: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    """Write the tables waiting, loans, holds and contracts into the attached mart."""
    _put_rules(con, policy)
    con.execute(f"create or replace temp table open_jobs as {sql.read('waits/open_jobs')}")
    con.execute(
        "create or replace temp table wait_turns as"
        " from mart.wait_turns semi join open_jobs using (job)"
    )
    for table in ("waiting", "loans"):
        con.execute(f"create table mart.{table} as {sql.read(f'waits/{table}')}")
    for name in _STEPS:
        con.execute(f"create or replace temp table {name} as {sql.read(f'waits/{name}')}")
    con.execute(
        "create table mart.holds as select job, start_us, end_us"
        " from holds join jobs using (job_id) where end_us > start_us order by all"
    )
    judged = " union all by name ".join(
        f"select '{name}' as contract, * from ({sql.read(f'contracts/{name}')})"
        for name in CONTRACTS
    )
    con.execute(
        "create table mart.contracts as select contract, job::varchar as job,"
        " at_us::bigint as at_us, kept::boolean as kept, detail, interval_us::bigint as interval_us"
        f" from ({judged})"
        " order by at_us, contract, job, detail"
    )


def _put_rules(con: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    con.execute(
        "create or replace temp table wait_rules as select ?::bigint as leave_slack_us",
        [policy.waits.leave_slack_us],
    )
    shares = pa.table(
        {
            "tenant": pa.array(policy.shares.keys(), pa.string()),
            "guaranteed_gpus": pa.array(policy.shares.values(), pa.int64()),
        }
    )
    con.register("shares_given", shares)
    con.execute("create or replace temp table shares as from shares_given")
    con.unregister("shares_given")
