"""The published mart: a database of its own for readers, replaced whole and atomically.

The warehouse can be open in one process only. So what readers need is copied into a new file
`mart-<run>.duckdb`, written beside its final name and renamed, and then the pointer file CURRENT is
replaced. A reader holds either the old file or the new one, never half of one. A published name is
never used again; the newest KEPT files stay for readers that opened them. Names are in the order of
publication also where the clock steps back.
"""

import os
import secrets
from pathlib import Path

import duckdb
import pyarrow as pa

import sql
from answers.clock import now_us
from answers.facts import Facts
from answers.freezes import record
from answers.home import Home
from answers.journal import Journal
from answers.mart import CURRENT, open_mart
from metrics.policy import Policy
from metrics.rulings import Rulings
from pipelines.promises import publish_promises
from pipelines.warehouse import transaction

KEPT = 5

TABLES = (
    "jobs",
    "ledger",
    "capacity",
    "restarts",
    "queue_waits",
    "wait_parts",
    "wait_holds",
    "restart_losses",
    "straggler_losses",
    "restore_tests",
    "attempts",
    "stretches",
    "suspensions",
    "step_hours",
    "maintenance",
    "rollouts",
    "wait_story",
    "wait_turns",
    "checkpoints",
    "saves",
    "saved_checkpoints",
    "resumptions",
    "job_nodes",
    "findings",
    "quarantine",
    "files",
    "pulls",
    "samples",
)
"""Tables of a mart, a SELECT of `sql/published/` each; pipelines/promises.py has the others."""


def publish(con: duckdb.DuckDBPyConnection, home: Home, policy: Policy, as_of_given: bool) -> Path:
    """Write a mart from the warehouse and point CURRENT at it; the new file.

    `as_of_given` notes that somebody chose as_of, so that readers can be told.
    """
    home.mart.mkdir(parents=True, exist_ok=True)
    _sync(home.root)
    published_us = now_us()
    final = home.mart / f"mart-{_number(home.mart, published_us)}-{secrets.token_hex(3)}.duckdb"
    unfinished = final.with_suffix(".tmp")
    try:
        con.execute(f"attach '{_escaped(unfinished)}' as mart")
        try:
            with transaction(con):
                write_tables(con, policy, published_us, as_of_given)
            con.execute("checkpoint mart")
        finally:
            con.execute("detach mart")
        _sync(unfinished)
        unfinished.rename(final)
        _sync(home.mart)  # the name must outlive a power loss before CURRENT says it
    finally:
        unfinished.unlink(missing_ok=True)
        Path(f"{unfinished}.wal").unlink(missing_ok=True)
    _point_to(home.mart, final)
    _prune(home.mart, final)
    if not as_of_given:
        record_decisions(home, policy)
    return final


def _number(folder: Path, published_us: int) -> int:
    """The time of publication, or where a clock was ahead of it, one more than the last number."""
    numbers = (mart.name.split("-")[1] for mart in folder.glob("mart-*-*.duckdb"))
    last = max((int(number) for number in numbers if number.isdigit()), default=0)
    return max(published_us, last + 1)


def record_decisions(home: Home, policy: Policy) -> None:
    """Append to the journal how the freezes changed with what was just published."""
    journal = Journal(home)
    rulings = Rulings(journal.entries(), policy)
    with open_mart(home) as mart:
        facts = Facts(mart, policy, rulings.adjustments(now_us()))
        if facts.data_through_us is not None:
            record(facts, journal, facts.data_through_us)


def write_tables(
    con: duckdb.DuckDBPyConnection, policy: Policy, published_us: int, as_of_given: bool
) -> None:
    """Write every table of a mart into the database that is attached as `mart`."""
    con.execute(
        "create table mart.meta as select max(as_of_us) as as_of_us, ?::boolean as as_of_given,"
        " ?::bigint as published_us from refreshes",
        [as_of_given, published_us],
    )
    put_policy(con, policy)
    for table in TABLES:
        con.execute(f"create table mart.{table} as {sql.read(f'published/{table}')}")
    publish_promises(con, policy)


def put_policy(con: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    """Put what the policy says of findings and tiers beside the records."""
    _name_tiers(con, policy)
    con.execute(
        "create or replace temp table check_rules as select ?::bigint as clock_slack_us",
        [policy.checks.clock_slack_us],
    )


def _name_tiers(con: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    """Keep the policy's tier of each name that jobs gave, with its rank, as tier_names."""
    given = [row[0] for row in con.execute("select distinct tier from job_facts").fetchall()]
    named = [(name, policy.tier(name)) for name in given if name is not None]
    table = pa.table(
        {
            "given": pa.array([name for name, _ in named], pa.string()),
            "tier": pa.array([tier.name if tier else name for name, tier in named], pa.string()),
            "rank": pa.array([tier.rank if tier else None for _, tier in named], pa.int64()),
            "is_preemptible": pa.array(
                [tier.preemptible if tier else None for _, tier in named], pa.bool_()
            ),
        }
    )
    con.register("tiers_given", table)
    con.execute("create or replace temp table tier_names as from tiers_given")
    con.unregister("tiers_given")


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _point_to(folder: Path, mart: Path) -> None:
    pointer = folder / f"{CURRENT}.{secrets.token_hex(3)}.tmp"
    pointer.write_text(mart.name + "\n", encoding="utf-8")
    _sync(pointer)
    pointer.replace(folder / CURRENT)
    _sync(folder)


def _prune(folder: Path, current: Path) -> None:
    """Keep the newest KEPT marts; leftovers of runs that were killed go as well."""
    for old in sorted(folder.glob("mart-*.duckdb"))[:-KEPT]:
        if old != current:
            old.unlink(missing_ok=True)
    for leftover in (*folder.glob("*.tmp"), *folder.glob("*.tmp.wal")):
        leftover.unlink(missing_ok=True)
