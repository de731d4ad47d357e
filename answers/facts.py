"""What budgets are made of, read from the mart: hourly losses with whom they are charged to, dated
events, breaches of a promise. Policy and adjustments act here, so that a change of either acts at
once, without a refresh. All amounts are integers of any size.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar, TypeVarTuple

import sql
from answers.mart import Mart
from metrics.adjustments import Adjustments
from metrics.budget import WINDOW_US, Entry
from metrics.conventions import category_of
from metrics.objectives import (
    Breach,
    Event,
    Restart,
    StorageFailure,
    Wait,
    restart_event,
    wait_event,
)
from metrics.policy import Policy
from metrics.scope import Scope

_AS_IS = "select job, hour_us, category, component, cause, us from ledger"

DIMENSIONS = ("category", "cause", "component", "job", "tenant", "tier", "node")
"""What spending is broken down by."""

APART_CAUSES = ("job_error", "suspended")
"""Restarts of these causes are no question of how fast the platform restarts."""


@dataclass(frozen=True)
class Coverage:
    """GPU-µs of instrumented jobs among those of all."""

    instrumented: int
    whole: int

    @property
    def share(self) -> float | None:
        """For reading; None where there is no GPU time."""
        return self.instrumented / self.whole if self.whole else None


Asked = TypeVarTuple("Asked")
Answer = TypeVar("Answer")


def _kept(
    method: Callable[["Facts", *Asked], Answer],
) -> Callable[["Facts", *Asked], Answer]:
    """Keep what a question of Facts yields."""

    @wraps(method)
    def ask(self: "Facts", *args: *Asked) -> Answer:
        return self.keep((method.__name__, *args), lambda: method(self, *args))

    return ask


class Facts:
    """The facts of one open mart under a policy and adjustments."""

    def __init__(self, mart: Mart, policy: Policy, adjustments: Adjustments) -> None:
        self.policy = policy
        self.adjustments = adjustments
        self._answers: dict[tuple[Any, ...], Any] = {}
        self.mart = mart
        self._keep_decisions()
        classes = policy.classes
        mart.keep(
            "scoped_jobs",
            sql.read("facts/scoped_jobs"),
            {
                "large_gpus": classes.large_gpus,
                "large_duration_us": classes.large_duration_us,
                "short_duration_us": classes.short_duration_us,
            },
        )
        mart.keep("excluded_hours", sql.read("facts/excluded_hours"))
        changed = adjustments.exclusions or adjustments.reattributions
        mart.define("adjusted_ledger", sql.read("facts/adjusted_ledger") if changed else _AS_IS)
        mart.define("node_losses", sql.read("facts/node_losses"))
        self._keep_charges()
        mart.define_table("charged", ["those"], sql.read("facts/charged_hours"))
        mart.keep("charged_hours", "from charged('adjusted_ledger')")
        mart.keep("charged_nodes", "from charged('node_losses')")
        self.data_through_us = mart.meta().as_of_us

    def keep(self, key: tuple[Any, ...], find: Callable[[], Answer]) -> Answer:
        """What was found for a key before: a mart never changes, and servers ask again."""
        if key not in self._answers:
            self._answers[key] = find()
        found: Answer = self._answers[key]
        return found

    @cached_property
    def first_hour_us(self) -> int | None:
        """The first hour of the ledger, None while it is empty."""
        (row,) = self.mart.rows("select min(hour_us) as hour_us from ledger")
        first_us: int | None = row["hour_us"]
        return first_us

    @cached_property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job's attributes by its name (see sql/facts/scoped_jobs)."""
        return {row["job"]: row for row in self.mart.rows("from scoped_jobs")}

    @cached_property
    def clusters(self) -> list[str]:
        """The clusters that there are, in order."""
        return sorted({row["cluster"] for row in self.jobs.values()})

    def in_scope(self, job: str, scope: Scope) -> bool:
        """Whether the job fits all that the scope names."""
        found = self.jobs.get(job)
        return found is not None and all(
            found[key] == value for key, value in scope.named().items()
        )

    @_kept
    def entries_of_goodput(self, scope: Scope) -> list[Entry]:
        """Wall-clock of large instrumented jobs and their charged loss: GPU-µs, of a job µs."""
        where, params = matches(scope)
        rows = self.mart.rows(
            f"select hour_us, known_us, {weighted(scope)} as total,"
            f" coalesce({weighted(scope)} filter (charge = 'platform'), 0) as bad"
            f" from charged_hours where {where} group by all order by all",
            params,
        )
        return [Entry(**row) for row in rows]

    @_kept
    def whole_loss(self, scope: Scope, start_us: int, end_us: int) -> int:
        """All that is not useful, whomever it is charged to, in the unit of the budget."""
        where, params = matches(scope)
        (row,) = self.mart.rows(
            f"select coalesce({weighted(scope)}, 0) as lost from charged_hours"
            f" where {where} and category <> 'useful' and known_us <= ?"
            " and hour_us >= ? and hour_us < ?",
            [*params, end_us, start_us, end_us],
        )
        return int(row["lost"])

    @_kept
    def within_own_budget(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """Each large job's wall-clock and charged loss in the span, in µs."""
        where, params = matches(scope)
        return self.mart.rows(
            "select job, sum(us::hugeint) as total,"
            " coalesce(sum(us::hugeint) filter (charge = 'platform'), 0) as bad"
            f" from charged_hours where {where} and known_us <= ?"
            " and hour_us >= ? and hour_us < ? group by job having sum(us) > 0 order by job",
            [*params, end_us, start_us, end_us],
        )

    @_kept
    def goodput_spending(
        self, scope: Scope, start_us: int, end_us: int
    ) -> dict[str, dict[str, int]]:
        """The charged loss by each of DIMENSIONS, the most first."""
        where, params = matches(scope)
        found = {}
        for dimension in DIMENSIONS:
            rows = self.mart.rows(
                f"select {dimension} as name, {weighted(scope)} as lost from {charged(dimension)}"
                f" where {where} and charge = 'platform' and known_us <= ?"
                " and hour_us >= ? and hour_us < ? group by all order by lost desc, name",
                [*params, end_us, start_us, end_us],
            )
            # What was re-attributed leaves a sum of nothing behind.
            found[dimension] = {row["name"]: int(row["lost"]) for row in rows if row["lost"]}
        return found

    @_kept
    def unattributed_jobs(self, scope: Scope, start_us: int, end_us: int) -> list[str]:
        """The jobs with charged time that no record explains, the most first."""
        where, params = matches(scope)
        rows = self.mart.rows(
            f"select job, {weighted(scope)} as lost from charged_hours where {where}"
            " and category = 'unattributed' and charge = 'platform' and known_us <= ?"
            " and hour_us >= ? and hour_us < ? group by job order by lost desc, job",
            [*params, end_us, start_us, end_us],
        )
        return [row["job"] for row in rows]

    @_kept
    def coverage(self, scope: Scope, start_us: int, end_us: int) -> Coverage:
        """The instrumented part of all GPU time in the span."""
        where, params = matches(scope, "j")
        (row,) = self.mart.rows(
            "select coalesce(sum(us::hugeint * weight), 0) as whole,"
            " coalesce(sum(us::hugeint * weight) filter (instrumented), 0) as instrumented"
            f" from ledger l join scoped_jobs j using (job) where {where}"
            " and hour_us >= ? and hour_us < ?",
            [*params, start_us, end_us],
        )
        return Coverage(int(row["instrumented"]), int(row["whole"]))

    @cached_property
    def restarts(self) -> list[tuple[Event, str]]:
        """Restarts of large jobs that count, with their causes."""
        rows = self.mart.rows(
            "select r.job, r.detected_us, r.recovered_us, r.age_us, j.large_us,"
            " coalesce(a.cause, r.cause) as cause"
            " from restarts r join scoped_jobs j using (job)"
            " left join reattributions a using (job, detected_us)"
            " where j.large_us is not null order by r.detected_us, r.job"
        )
        found = []
        for row in rows:
            restart = Restart(
                row["job"], row["detected_us"], row["recovered_us"], row["age_us"], row["large_us"]
            )
            event = restart_event(restart, self.policy.restart_limit_us)
            if event and row["cause"] not in APART_CAUSES and self._counts(event):
                found.append((event, row["cause"]))
        return found

    @cached_property
    def waits(self) -> list[Event]:
        """Queue waits that count, of the tiers that have a limit."""
        holds: dict[str, list[tuple[int, int]]] = {}
        for row in self.mart.rows("from wait_holds order by start_us"):
            holds.setdefault(row["job"], []).append((row["start_us"], row["end_us"]))
        found = []
        for row in self.mart.rows("from queue_waits order by submitted_us, job"):
            tier = self.policy.tier(row["tier"]) if row["tier"] else None
            if tier is None or tier.queue_limit_us is None:
                continue
            wait = Wait(
                row["job"],
                row["submitted_us"],
                row["submitted_us"] + row["wait_us"],
                not row["censored"],
                tuple(holds.get(row["job"], ())),
            )
            event = wait_event(wait, tier.queue_limit_us)
            if event and self._counts(event):
                found.append(event)
        return found

    @cached_property
    def short_jobs(self) -> list[Event]:
        """Ended short jobs but those cancelled, or failed by an error of their own."""
        events = [
            Event(job, row["ended_us"], row["state"] != "completed")
            for job, row in self.jobs.items()
            if row["is_short"]
            and row["ended_us"] is not None
            and row["state"] in ("completed", "failed")
            and not (row["state"] == "failed" and row["last_cause"] == "job_error")
        ]
        return [event for event in events if self._counts(event)]

    @cached_property
    def breaches(self) -> list[Breach]:
        """Large runs that lost more than one checkpoint interval to a storage failure."""
        return [breach for failure in self.storage_failures if (breach := failure.breach)]

    @cached_property
    def storage_failures(self) -> list[StorageFailure]:
        """What the storage did to large runs, whether it broke the promise or not."""
        rows = self.mart.rows(sql.read("facts/storage_failures"))
        return [StorageFailure(**row) for row in rows]

    @cached_property
    def restore_tests(self) -> list[dict[str, Any]]:
        """Verdicts of restore tests, in order of time."""
        return self.mart.rows("from restore_tests order by ts_us, job, step")

    @_kept
    def large_runs(self, scope: Scope, end_us: int) -> set[str]:
        """Large jobs with wall-clock in the window that ends then, instrumented or not."""
        where, params = matches(scope, "j")
        rows = self.mart.rows(
            "select distinct job from ledger join scoped_jobs j using (job)"
            f" where {where} and j.large_us <= ? and hour_us >= ? and hour_us < ?",
            [*params, end_us, end_us - WINDOW_US, end_us],
        )
        return {row["job"] for row in rows}

    @_kept
    def between_interruptions(self, scope: Scope, start_us: int, end_us: int) -> int | None:
        """Mean wall-clock in µs between interruptions of large jobs; None where none came."""
        where, params = matches(scope)
        (row,) = self.mart.rows(
            "select sum(us)::hugeint as wall_us, (select sum(interruptions) from restarts r"
            f"  join scoped_jobs j using (job) where {where} and large_us is not null"
            "   and j.instrumented and detected_us >= ? and detected_us < ?"
            "   and (job, detected_us // 3600000000 * 3600000000) not in (from excluded_hours))"
            " as interruptions"
            f" from charged_hours where {where} and known_us <= ? and hour_us >= ? and hour_us < ?",
            [*params, start_us, end_us, *params, end_us, start_us, end_us],
        )
        if not row["wall_us"] or not row["interruptions"]:
            return None
        return int(row["wall_us"]) // int(row["interruptions"])

    @_kept
    def nodes(self) -> set[str]:
        """Every node that the latest allocation of a job names."""
        return {row["node"] for row in self.mart.rows("select distinct node from job_nodes")}

    def jobs_on(self, nodes: list[str]) -> list[dict[str, Any]]:
        """The running jobs on any of the nodes, with their median restart and interval in µs."""
        return self.mart.rows(
            "select j.job, any_value(j.weight) as gpus,"
            " quantile_disc(r.time_to_restart_us, 0.5) as restart_us,"
            " any_value(j.checkpoint_interval_us) as interval_us"
            " from scoped_jobs j left join restarts r using (job)"
            " where j.state = 'running' and j.job in"
            " (select job from job_nodes where list_contains(?::varchar[], node))"
            " group by j.job order by gpus desc, j.job",
            [nodes],
        )

    @_kept
    def work(self) -> dict[int, int]:
        """The GPU-µs of all jobs by UTC hour."""
        rows = self.mart.rows(
            "select hour_us, sum(us::hugeint * weight) as work"
            " from ledger join scoped_jobs using (job) group by hour_us"
        )
        return {row["hour_us"]: int(row["work"]) for row in rows}

    def event_spending(
        self, events: list[tuple[Event, str]], start_us: int, end_us: int
    ) -> dict[str, dict[str, int]]:
        """Bad events in the span by cause (where there is one), job, tenant and tier."""
        counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("cause", "job", "tenant", "tier")
        }
        for event, cause in events:
            if event.bad and start_us <= event.at_us < end_us:
                job = self.jobs[event.job]
                names = {"cause": cause, "job": event.job} | {
                    name: job[name] for name in ("tenant", "tier")
                }
                for dimension, name in names.items():
                    counts[dimension].update([name] if name else [])
        return {
            dimension: dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
            for dimension, found in counts.items()
        }

    def _counts(self, event: Event) -> bool:
        return not any(
            exclusion.from_us <= event.at_us < exclusion.until_us
            and self.in_scope(event.job, exclusion.scope)
            for exclusion in self.adjustments.exclusions
        )

    def _keep_decisions(self) -> None:
        self.mart.keep(
            "exclusions",
            _table(cluster="text", tier="text", tenant="text", job="text", from_us="", until_us=""),
            [
                json.dumps(
                    [
                        {"from_us": x.from_us, "until_us": x.until_us} | x.scope.named()
                        for x in self.adjustments.exclusions
                    ]
                )
            ],
        )
        self.mart.keep(
            "reattributions",
            _table(job="text", detected_us="", cause="text", category="text"),
            [
                json.dumps(
                    [
                        {
                            "job": change.job,
                            "detected_us": change.detected_us,
                            "cause": change.cause,
                            "category": category_of(change.cause),
                        }
                        for change in self.adjustments.reattributions
                    ]
                )
            ],
        )

    def _keep_charges(self) -> None:
        kinds = self.mart.rows(
            "select distinct l.category, l.component, l.cause, j.tier"
            " from adjusted_ledger l join scoped_jobs j using (job)"
            " where l.category not in ('useful', 'uninstrumented')"
        )
        charged = [kind | {"charge": self.policy.charged_to(**kind)} for kind in kinds]
        self.mart.keep(
            "charges",
            _table(category="text", component="text", cause="text", tier="text", charge="text"),
            [json.dumps(charged)],
        )


def matches(scope: Scope, alias: str = "") -> tuple[str, list[Any]]:
    """The condition that a row's job fits the scope, and its parameters."""
    named = scope.named()
    prefix = f"{alias}." if alias else ""
    return " and ".join(["true", *(f"{prefix}{key} = ?" for key in named)]), list(named.values())


def charged(*dimensions: str) -> str:
    """The table of charged losses that has the dimensions: of those by node only what has one."""
    return "charged_nodes" if "node" in dimensions else "charged_hours"


def weighted(scope: Scope) -> str:
    return "sum(us::hugeint)" if scope.job else "sum(us::hugeint * weight)"


def _table(**columns: str) -> str:
    """A query that reads a JSON list of objects, given as its parameter, as rows."""
    fields = ", ".join(
        f"(row ->> '{name}')::{'varchar' if kind else 'bigint'} as {name}"
        for name, kind in columns.items()
    )
    return f"select {fields} from (select unnest(from_json(?::json, '[\"json\"]')) as row)"
