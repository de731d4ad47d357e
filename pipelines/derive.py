"""From raw tables to the ledger, restarts and waits: which model runs when, and on what.

A refresh derives anew only what its records touch. Per job, everything but steps is small and is
derived again for each job at work (`staging/work_jobs`). Steps are painted again only in the hours
whose context (`staging/fresh_contexts`) or content changed; the ledger is written again only in the
hours that those, or changed labels, reach. So a refresh equals a rebuild by construction: what an
hour's rows depend on is compared whole, and nothing else is read to make them.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import duckdb

import sql
from metrics.errors import IntegrityError
from metrics.policy import Policy
from pipelines.folding import Horizon, fold, refuse_folded
from pipelines.warehouse import one_row, transaction

MODELS_VERSION = 2
"""Raised when a model changes meaning: every job is derived anew at the next refresh."""

PAINTED = ("contexts", "painted_sums", "painted_gaps", "painted_pieces", "painted_stragglers")
"""What is read out of steps, by group."""

DERIVED = (
    *PAINTED,
    "job_facts",
    "attempt_facts",
    "labels",
    "baselines",
    "unpainted",
    "ledger",
    "goodput",
    "restarts",
    "queue_waits",
    "wait_parts",
    "job_points",
)

OF_NODES = ("node_points", "capacity")
"""What is derived of nodes and hours, and of no single job."""

NODE_CHECK = "capacity_is_whole"
CHECKS = ("job_hours_balance", "no_negative_time", "keys_are_unique", NODE_CHECK)
"""The models of `sql/checks/`: each yields a row a fault, and nothing is committed with one."""

CAPACITY_STEPS = (
    "node_pieces",
    "job_pieces",
    "node_holds",
    "node_segments",
    "held_segments",
    "free_segments",
    "stranded",
    "unplaced",
    "held_hours",
)
"""The models of `sql/capacity/` on the way from what changed to the capacity of its hours."""


class FailedChecks(IntegrityError):
    """What was derived contradicts itself. `faults` has the faults in words, by check."""

    def __init__(self, faults: dict[str, list[str]]) -> None:
        self.faults = faults
        first = next(fault for found in faults.values() for fault in found)
        count = sum(len(found) for found in faults.values())
        super().__init__(
            f"the derived numbers contradict themselves: {first} (of {count} faults the first). "
            "Nothing was committed or published; this is a fault of Headway: please report it "
            "with the job's records"
        )


@dataclass(frozen=True)
class StageReport:
    """One stage of a refresh: how many rows it left in its table, and how long it took."""

    name: str
    rows: int
    seconds: float


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did: as_of in µs (None: the store is empty), and how much it derived."""

    as_of_us: int | None
    jobs: int = 0
    groups: int = 0
    hours: int = 0
    folded_steps: int = 0
    stages: tuple[StageReport, ...] = ()


class Derivation:
    """One refresh of the derived tables, stage by stage, to be run in one transaction.

    `as_of_us` bounds what is read; None takes the latest stamp in the store.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, policy: Policy, as_of_us: int | None = None
    ) -> None:
        self.con = con
        self.policy = policy
        self.as_of_us = as_of_us
        self.horizon: Horizon | None = None
        self.knows_nodes = False

    def begin(self) -> int | None:
        """Fix the clock and find the jobs at work. Returns as_of in µs, None for an empty store."""
        con = self.con
        (latest_us,) = one_row(
            con,
            "select greatest((select max(ts_us) from events),"
            " (select max(last_ts_us) from step_groups))",
        )
        if latest_us is None:
            return None
        if self.as_of_us is None:
            self.as_of_us = int(latest_us)
            self.horizon = Horizon.at(self.as_of_us, self.policy.retention)
        refuse_folded(con, self.as_of_us)
        con.execute(
            "create or replace temp table clock as select ?::bigint as as_of_us,"
            " ?::bigint as silent_after_us, ?::varchar as settings",
            [self.as_of_us, self.policy.silent_after_us, _settings(self.policy)],
        )
        self._temp("work_jobs")
        return self.as_of_us

    def attempts(self) -> None:
        """Jobs, their attempts and boundaries, and where their steps lie."""
        for name in (
            "seen_events",
            "seen_groups",
            "job_attributes",
            "checkpoint_intervals",
            "extents",
            "suspensions",
            "attempts",
            "boundaries",
            "walls",
            "windows",
            "placements",
        ):
            self._temp(name)
        self.con.execute(
            "create or replace temp macro painted_steps(those, placed) as table"
            f" {sql.read('staging/painted_steps')}"
        )
        self._replace_jobs("job_facts", "from (select *, unended as open from walls)")
        self._replace_jobs("attempt_facts", "from attempts")

    def labels(self) -> None:
        """What time without a painted step counts as, at every moment of each job at work."""
        for name in (
            "intervals",
            "exits",
            "probe_groups",
            "probe_steps",
            "progress_ends",
            "pauses",
            "states",
            "runs",
        ):
            self._temp(name)
        self._temp("labels", into="fresh_labels")
        # Written only from where they differ: all labels of all jobs would be most of the log.
        self._temp("relabelled")
        self._temp("label_changes")
        self.con.execute(
            "delete from labels l using relabelled r"
            " where r.job_id = l.job_id and l.start_us >= r.from_us"
        )
        self.con.execute(
            "insert into labels by name select f.* exclude (end_us)"
            " from fresh_labels f join relabelled r using (job_id) where f.start_us >= r.from_us"
        )

    def segments(self) -> None:
        """Paint the steps of the hours whose context or content changed."""
        con = self.con
        self._baselines()
        self._temp("fresh_contexts")
        con.execute(
            "create or replace temp table gone_groups as select group_id, job_id, hour_us"
            " from contexts semi join work_jobs using (job_id)"
            " where group_id not in (select group_id from fresh_contexts)"
        )
        con.execute(
            "create or replace temp table dirty_contexts as"
            " (select * from fresh_contexts"
            " except select * from contexts semi join work_jobs using (job_id))"
        )
        con.execute(
            "delete from dirty_contexts d using folds f"
            " where f.job_id = d.job_id and d.hour_us < f.folded_until_us"
        )
        con.execute(
            "set variable least_slow_us = (select min(2 * baseline_us) from dirty_contexts)"
        )
        for name in (
            "stretches",
            "picked_steps",
            "painted_stretches",
            "unpicked_sums",
            "unpicked_gaps",
        ):
            self._temp(name)
        con.execute(
            "create or replace temp table changed_hours as"
            " from label_changes union select job_id, hour_us from gone_groups"
            " union select job_id, hour_us from dirty_contexts"
            f" union select job_id, hour_us from painted_pieces where group_id in ({_REPLACED})"
        )
        for name in PAINTED:
            con.execute(f"delete from {name} where group_id in ({_REPLACED})")
        con.execute("insert into contexts by name from dirty_contexts")
        con.execute(
            "create or replace temp table picked_stragglers as from picked_steps"
            " where straggler_us > 0 and straggler_node is not null"
        )
        for name in ("painted_sums", "painted_gaps", "painted_stragglers"):
            con.execute(f"insert into {name} by name {sql.read(f'staging/{name}')}")
        con.execute(
            f"create or replace temp table fresh_pieces as {sql.read('staging/painted_pieces')}"
        )
        con.execute("insert into painted_pieces by name from fresh_pieces")
        con.execute(
            "insert into changed_hours select job_id, hour_us from fresh_pieces"
            " except from changed_hours"
        )
        self._look_at_new_groups()

    def ledger(self) -> None:
        """Write the ledger of the changed hours."""
        self._temp("label_hours")
        for name in ("unpainted", "ledger"):
            self.con.execute(f"delete from {name} where (job_id, hour_us) in (from changed_hours)")
            self.con.execute(f"insert into {name} by name {sql.read(f'marts/{name}')}")

    def goodput(self) -> None:
        """Wall-clock and useful time of the jobs at work."""
        self._replace_jobs("goodput", sql.read("marts/goodput"))

    def restarts(self) -> None:
        """Restarts of the jobs at work."""
        self._replace_jobs("restarts", sql.read("marts/restarts"))

    def queue_waits(self) -> None:
        """Queue waits of the jobs at work, and their parts."""
        self.con.execute(
            f"create or replace temp table fresh_waits as {sql.read('marts/queue_waits')}"
        )
        self._replace_jobs("queue_waits", "from fresh_waits")
        self._replace_jobs("wait_parts", sql.read("marts/wait_parts"))

    def capacity(self) -> None:
        """What the installed GPUs did, in the hours that nodes, jobs or as_of touch.

        While no record names a node, only what jobs hold is kept, for the day when one does.
        """
        con = self.con
        self._temp("job_points", into="fresh_job_points", folder="capacity")
        (self.knows_nodes,) = one_row(
            con,
            "select exists (from events where event = 'node_state')"
            " or exists (from job_points where nodes is not null)"
            " or exists (from fresh_job_points where nodes is not null)",
        )
        if not self.knows_nodes:
            self._replace_jobs("job_points", "from fresh_job_points")
            return
        con.execute(
            "update fresh_job_points set nodes = all_node_names(nodes) where nodes is not null"
        )
        self._temp("work_nodes", folder="capacity")
        self._temp("node_points", into="fresh_node_points", folder="capacity")
        self._temp("work_hours", folder="capacity")
        con.execute(
            "delete from node_points p using work_nodes w"
            " where w.cluster = p.cluster and w.node = p.node and p.start_us >= w.from_us"
        )
        con.execute("insert into node_points by name from fresh_node_points")
        self._replace_jobs("job_points", "from fresh_job_points")
        for name in CAPACITY_STEPS:
            self._temp(name, folder="capacity")
        con.execute(
            "delete from capacity where hour_us in (select hour_us from work_hours)"
            " or hour_us >= (select as_of_us from clock)"
        )
        con.execute(f"insert into capacity by name {sql.read('capacity/capacity')}")

    def finish(self, stages: tuple[StageReport, ...]) -> Refreshed:
        """Check what was derived, note what was seen, and say how much was derived.

        Raises FailedChecks.
        """
        con = self.con
        faults = {
            check: [row[0] for row in con.execute(sql.read(f"checks/{check}")).fetchall()]
            for check in CHECKS
            if check != NODE_CHECK or self.knows_nodes
        }
        if any(faults.values()):
            raise FailedChecks(faults)
        folded_steps = fold(con, self.horizon) if self.horizon else 0
        con.execute("delete from refreshes")
        con.execute(
            "insert into refreshes by name select as_of_us, next_event_id, next_group_id, settings"
            " from clock, counters"
        )
        return Refreshed(
            self.as_of_us,
            jobs=self._count("work_jobs"),
            groups=self._count("dirty_contexts"),
            hours=self._count("changed_hours"),
            folded_steps=folded_steps,
            stages=stages,
        )

    def run(self, name: str, table: str, stage: Callable[["Derivation"], None]) -> StageReport:
        """Run one stage and measure it."""
        started = time.perf_counter()
        stage(self)
        return StageReport(name, self._count(table), time.perf_counter() - started)

    def _look_at_new_groups(self) -> None:
        """Sum up the groups that are new, for stragglers and for people: one never changes."""
        for name in ("straggler_groups", "step_hours"):
            self.con.execute(
                f"delete from {name} where group_id not in (select group_id from step_groups)"
            )
            self.con.execute(f"insert into {name} by name {sql.read(f'marts/{name}')}")

    def _baselines(self) -> None:
        con = self.con
        self._temp("baseline_groups")
        self._temp("baseline_inputs")
        con.execute(
            "create or replace temp table stale_baselines as from baseline_inputs"
            " anti join baselines using (job_id, attempt, inputs)"
        )
        (is_stale,) = one_row(con, "select exists (from stale_baselines)")
        if not is_stale:
            return
        con.execute(
            "create or replace temp table stale_groups as from baseline_groups"
            " semi join stale_baselines using (job_id, attempt)"
        )
        self._temp("early_steps")
        self._temp("fresh_baselines")
        con.execute(
            "delete from baselines where (job_id, attempt) in"
            " (select (job_id, attempt) from stale_baselines)"
        )
        con.execute("insert into baselines by name from fresh_baselines")

    def _temp(self, name: str, into: str | None = None, folder: str = "staging") -> None:
        model = sql.read(f"{folder}/{name}")
        self.con.execute(f"create or replace temp table {into or name} as {model}")

    def _replace_jobs(self, table: str, query: str) -> None:
        columns = [row[0] for row in self.con.execute(f"describe {table}").fetchall()]
        self.con.execute(f"delete from {table} where job_id in (from work_jobs)")
        names = ", ".join(f'"{column}"' for column in columns)
        self.con.execute(f"insert into {table} select {names} from ({query})")

    def _count(self, table: str) -> int:
        (count,) = one_row(self.con, f"select count(*) from {table}")
        return int(count)


_REPLACED = "select group_id from dirty_contexts union all select group_id from gone_groups"


def _settings(policy: Policy) -> str:
    return json.dumps({"models": MODELS_VERSION, "silent_after_us": policy.silent_after_us})


def _label_and_paint(derivation: Derivation) -> None:
    derivation.labels()
    derivation.segments()


STAGES: tuple[tuple[str, str, Callable[[Derivation], None]], ...] = (
    ("attempts", "job_facts", Derivation.attempts),
    ("segments", "painted_sums", _label_and_paint),
    ("ledger", "ledger", Derivation.ledger),
    ("goodput", "goodput", Derivation.goodput),
    ("capacity", "capacity", Derivation.capacity),
    ("restarts", "restarts", Derivation.restarts),
    ("queue_waits", "queue_waits", Derivation.queue_waits),
)
"""The stages in order: the asset's name, the table whose rows it reports, and what runs."""


def refresh(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    as_of_us: int | None = None,
    rebuild: bool = False,
    on_stage: Callable[[str], None] = lambda name: None,
) -> Refreshed:
    """Bring all derived tables up to the raw ones, in one transaction.

    With `as_of_us` nothing later is read; with `rebuild` everything is derived from nothing;
    `on_stage` is told each stage's name as it begins. Steps older than the policy keeps them are
    folded at the end, unless as_of was given. Raises FailedChecks, and changes nothing, where the
    result contradicts itself, UsageError where as_of lies before what was folded.
    """
    with transaction(con):
        if rebuild:
            empty_derived(con)
        derivation = Derivation(con, policy, as_of_us)
        if derivation.begin() is None:
            return Refreshed(None)
        reports = []
        for name, table, stage in STAGES:
            on_stage(name)
            reports.append(derivation.run(name, table, stage))
        return derivation.finish(tuple(reports))


def empty_derived(con: duckdb.DuckDBPyConnection) -> None:
    """Forget all that was derived and can be derived again; raw records stay, and folded hours."""
    for name in ("refreshes", *OF_NODES):
        con.execute(f"delete from {name}")
    (has_folded,) = one_row(con, "select exists (from folds)")
    for name in DERIVED:
        con.execute(f"delete from {name}" + (f" where not ({_stands(name)})" if has_folded else ""))


def _stands(name: str) -> str:
    """Which rows of a derived table can not be derived again: raw steps of them were dropped."""
    folded = "job_id in (select job_id from folds where is_closed)"
    if name in PAINTED:
        folded += (
            f" or exists (from folds f where f.job_id = {name}.job_id"
            f" and {name}.hour_us < f.folded_until_us)"
        )
    return folded
