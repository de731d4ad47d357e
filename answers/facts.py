"""What budgets are made of, read from the mart: hourly losses with whom they are charged to, dated
events, breaches of a promise. Policy and adjustments act here, so that a change of either acts at
once, without a refresh. All amounts are integers of any size.
"""

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import sql
from answers.mart import Mart
from metrics.adjustments import Adjustments
from metrics.budget import WINDOW_US, Entry
from metrics.conventions import category_of
from metrics.objectives import (
    Breach,
    Event,
    Restart,
    Wait,
    restart_event,
    wait_event,
)
from metrics.policy import Policy
from metrics.scope import Scope

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


class Facts:
    """The facts of one open mart under a policy and adjustments."""

    def __init__(self, mart: Mart, policy: Policy, adjustments: Adjustments) -> None:
        self.policy = policy
        self.adjustments = adjustments
        self._mart = mart
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
        mart.keep("adjusted_ledger", sql.read("facts/adjusted_ledger"))
        self._keep_charges()
        mart.keep("charged_hours", sql.read("facts/charged_hours"))
        self.data_through_us = mart.meta().as_of_us
        self.entries_of_goodput = cache(self._entries_of_goodput)

    @cached_property
    def first_hour_us(self) -> int | None:
        """The first hour of the ledger, None while it is empty."""
        (row,) = self._mart.rows("select min(hour_us) as hour_us from ledger")
        return row["hour_us"]  # type: ignore[no-any-return]

    @cached_property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job's attributes by its name (see sql/facts/scoped_jobs)."""
        return {row["job"]: row for row in self._mart.rows("from scoped_jobs")}

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

    def _entries_of_goodput(self, scope: Scope) -> list[Entry]:
        """Wall-clock of large instrumented jobs and their charged loss: GPU-µs, of a job µs."""
        where, params = _matches(scope)
        rows = self._mart.rows(
            f"select hour_us, known_us, {_weighted(scope)} as total,"
            f" coalesce({_weighted(scope)} filter (charge = 'platform'), 0) as bad"
            f" from charged_hours where {where} group by all order by all",
            params,
        )
        return [Entry(**row) for row in rows]

    def whole_loss(self, scope: Scope, start_us: int, end_us: int) -> int:
        """All that is not useful, whomever it is charged to, in the unit of the budget."""
        where, params = _matches(scope)
        (row,) = self._mart.rows(
            f"select coalesce({_weighted(scope)}, 0) as lost from charged_hours"
            f" where {where} and category <> 'useful' and known_us <= ?"
            " and hour_us >= ? and hour_us < ?",
            [*params, end_us, start_us, end_us],
        )
        return int(row["lost"])

    def within_own_budget(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """Each large job's wall-clock and charged loss in the span, in µs."""
        where, params = _matches(scope)
        return self._mart.rows(
            "select job, sum(us::hugeint) as total,"
            " coalesce(sum(us::hugeint) filter (charge = 'platform'), 0) as bad"
            f" from charged_hours where {where} and known_us <= ?"
            " and hour_us >= ? and hour_us < ? group by job having sum(us) > 0 order by job",
            [*params, end_us, start_us, end_us],
        )

    def goodput_spending(
        self, scope: Scope, start_us: int, end_us: int
    ) -> dict[str, dict[str, int]]:
        """The charged loss by each of DIMENSIONS, the most first."""
        where, params = _matches(scope)
        found = {}
        for dimension in DIMENSIONS:
            table, known = ("charged_hours", "known_us <= ?")
            if dimension == "node":
                table = f"({sql.read('facts/node_losses')})"
                known = "? > 0"
            rows = self._mart.rows(
                f"select {dimension} as name, {_weighted(scope)} as lost from {table}"
                f" where {where} and charge = 'platform' and {known}"
                " and hour_us >= ? and hour_us < ? group by all order by lost desc, name",
                [*params, end_us, start_us, end_us],
            )
            found[dimension] = {row["name"]: int(row["lost"]) for row in rows}
        return found

    def restart_rows(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """Restarts of large jobs detected in the span, newest first, with causes as re-attributed.

        `again_us` is the work that each had done again, `node` the one that its interruption named.
        """
        where, params = _matches(scope, "j")
        return self._mart.rows(
            "with lost as (select job, detected_us, any_value(node) as node, coalesce(sum(us)"
            "   filter (component = 'rework'), 0)::bigint as again_us"
            "   from restart_losses group by job, detected_us)"
            " select r.* replace (coalesce(a.cause, r.cause) as cause), l.node, j.weight,"
            "   coalesce(l.again_us, 0) as again_us"
            " from restarts r join scoped_jobs j using (job)"
            " left join lost l using (job, detected_us)"
            " left join reattributions a using (job, detected_us)"
            f" where {where} and j.large_us is not null"
            "   and r.detected_us >= ? and r.detected_us < ?"
            " order by r.detected_us desc, r.job",
            [*params, start_us, end_us],
        )

    def wait_rows(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """Queue waits that ended, or went on, in the span, in µs; by tier, oldest first.

        `counted_us` is the wait without what its owner asked for (user_hold, dependency).
        """
        where, params = _matches(scope, "j")
        return self._mart.rows(
            "with held as (select job, sum(end_us - start_us)::bigint as us from wait_holds"
            "   group by job)"
            " select q.job, j.tier, q.submitted_us, q.wait_us, q.censored, q.basis, j.gpus, j.tenant,"
            "   j.state, q.wait_us - coalesce(h.us, 0) as counted_us"
            " from queue_waits q join scoped_jobs j using (job) left join held h using (job)"
            f" where {where} and q.submitted_us + q.wait_us >= ? and q.submitted_us < ?"
            " order by j.tier, q.submitted_us, q.job",
            [*params, start_us, end_us],
        )

    def wait_reasons(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """What those waits were spent on by tier, part and reason: jobs and µs, the most first."""
        where, params = _matches(scope, "j")
        return self._mart.rows(
            "select j.tier, p.part, p.reason, count(distinct job) as jobs, sum(p.us)::hugeint as us"
            " from wait_parts p join queue_waits q using (job) join scoped_jobs j using (job)"
            f" where {where} and q.submitted_us + q.wait_us >= ? and q.submitted_us < ?"
            " group by all order by us desc, j.tier, p.part, p.reason",
            [*params, start_us, end_us],
        )

    def uninstrumented_jobs(self, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
        """Jobs without step records and their GPU-µs in the span, the most first."""
        where, params = _matches(scope, "j")
        rows = self._mart.rows(
            "select job, j.tenant, j.tier, sum(us::hugeint * weight) as gpu_us"
            f" from ledger join scoped_jobs j using (job) where {where} and not j.instrumented"
            " and hour_us >= ? and hour_us < ? group by all order by gpu_us desc, job",
            [*params, start_us, end_us],
        )
        return [row | {"gpu_us": int(row["gpu_us"])} for row in rows]

    def weighted_wall(self, job: str, start_us: int, end_us: int) -> int:
        """A job's wall-clock in the span, in GPU-µs."""
        (row,) = self._mart.rows(
            "select coalesce(sum(us::hugeint * weight), 0) as gpu_us"
            " from ledger join scoped_jobs using (job)"
            " where job = ? and hour_us >= ? and hour_us < ?",
            [job, start_us, end_us],
        )
        return int(row["gpu_us"])

    def checkpoints(self) -> list[dict[str, Any]]:
        """By job: checkpoints saved and failed, restore tests, the newest of each in µs."""
        return self._mart.rows("from checkpoints")

    def losses_of(self, job: str) -> list[dict[str, Any]]:
        """What a job lost over its whole wall-clock, in µs, with re-attributions in force.

        Exclusions take time out of budgets, not out of what happened: they are left in.
        """
        return self._mart.rows(
            "with recorded as ("
            "  select category, component, cause, us from ledger where job = ?"
            "  union all select l.category, l.component, l.cause, -l.us from restart_losses l"
            "    semi join reattributions using (job, detected_us) where l.job = ?"
            "  union all select r.category, l.component, r.cause, l.us from restart_losses l"
            "    join reattributions r using (job, detected_us) where l.job = ?)"
            " select category, component, cause, sum(us)::bigint as us from recorded"
            " where category <> 'useful' group by all having sum(us) <> 0 order by us desc",
            [job, job, job],
        )

    def spent_by(
        self, dimension: str, scope: Scope, start_us: int, end_us: int, only: dict[str, str]
    ) -> list[dict[str, Any]]:
        """The charged loss by one of DIMENSIONS, the most first, of what has the values of `only`.

        `again` is the part of it that is work done again. Raises ValueError for no dimension.
        """
        if not {dimension, *only} <= set(DIMENSIONS):
            raise ValueError(f"{dimension}, {only}: no dimensions of spending")
        by_node = "node" in (dimension, *only)
        table = f"({sql.read('facts/node_losses')})" if by_node else "charged_hours"
        where, params = _matches(scope)
        narrowed = "".join(f" and {key} = ?" for key in only)
        known = "" if by_node else " and known_us <= ?"
        found = self._mart.rows(
            f"select {dimension} as name, {_weighted(scope)} as lost,"
            f" coalesce({_weighted(scope)} filter (component = 'rework'), 0) as again"
            f" from {table} where {where} and charge = 'platform'{narrowed}{known}"
            " and hour_us >= ? and hour_us < ? group by all having lost > 0"
            " order by lost desc, name",
            [*params, *only.values(), *([] if by_node else [end_us]), start_us, end_us],
        )
        return [row | {"lost": int(row["lost"]), "again": int(row["again"])} for row in found]

    def unattributed_jobs(self, scope: Scope, start_us: int, end_us: int) -> list[str]:
        """The jobs with charged time that no record explains, the most first."""
        where, params = _matches(scope)
        rows = self._mart.rows(
            f"select job, {_weighted(scope)} as lost from charged_hours where {where}"
            " and category = 'unattributed' and charge = 'platform' and known_us <= ?"
            " and hour_us >= ? and hour_us < ? group by job order by lost desc, job",
            [*params, end_us, start_us, end_us],
        )
        return [row["job"] for row in rows]

    def coverage(self, scope: Scope, start_us: int, end_us: int) -> Coverage:
        """The instrumented part of all GPU time in the span."""
        where, params = _matches(scope, "j")
        (row,) = self._mart.rows(
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
        rows = self._mart.rows(
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
        for row in self._mart.rows("from wait_holds order by start_us"):
            holds.setdefault(row["job"], []).append((row["start_us"], row["end_us"]))
        found = []
        for row in self._mart.rows("from queue_waits order by submitted_us, job"):
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
        return [
            Breach(
                row["job"],
                row["detected_us"],
                row["lost_us"],
                row["interval_us"],
                row["mended_us"],
            )
            for row in self._mart.rows(sql.read("facts/breaches"))
        ]

    @cached_property
    def proven_us(self) -> list[int]:
        """When restore tests passed, in order."""
        rows = self._mart.rows("select ts_us from restore_tests where result = 'pass' order by 1")
        return [row["ts_us"] for row in rows]

    def large_runs(self, scope: Scope, end_us: int) -> set[str]:
        """Large jobs with wall-clock in the window that ends then, instrumented or not."""
        where, params = _matches(scope, "j")
        rows = self._mart.rows(
            "select distinct job from ledger join scoped_jobs j using (job)"
            f" where {where} and j.large_us <= ? and hour_us >= ? and hour_us < ?",
            [*params, end_us, end_us - WINDOW_US, end_us],
        )
        return {row["job"] for row in rows}

    def between_interruptions(self, scope: Scope, start_us: int, end_us: int) -> int | None:
        """Mean wall-clock in µs between interruptions of large jobs; None where none came."""
        where, params = _matches(scope)
        (row,) = self._mart.rows(
            "select sum(us)::hugeint as wall_us, (select sum(interruptions) from restarts r"
            f"  join scoped_jobs j using (job) where {where} and large_us is not null"
            "   and j.instrumented and detected_us >= ? and detected_us < ?) as interruptions"
            f" from charged_hours where {where} and known_us <= ? and hour_us >= ? and hour_us < ?",
            [*params, start_us, end_us, *params, end_us, start_us, end_us],
        )
        if not row["wall_us"] or not row["interruptions"]:
            return None
        return int(row["wall_us"]) // int(row["interruptions"])

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
        self._mart.keep(
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
        self._mart.keep(
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
        kinds = self._mart.rows(
            "select distinct l.category, l.component, l.cause, j.tier"
            " from adjusted_ledger l join scoped_jobs j using (job)"
            " where l.category not in ('useful', 'uninstrumented')"
        )
        charged = [kind | {"charge": self.policy.charged_to(**kind)} for kind in kinds]
        self._mart.keep(
            "charges",
            _table(category="text", component="text", cause="text", tier="text", charge="text"),
            [json.dumps(charged)],
        )


def _matches(scope: Scope, alias: str = "") -> tuple[str, list[Any]]:
    """The condition that a row's job fits the scope, and its parameters."""
    named = scope.named()
    prefix = f"{alias}." if alias else ""
    return " and ".join(["true", *(f"{prefix}{key} = ?" for key in named)]), list(named.values())


def _weighted(scope: Scope) -> str:
    return "sum(us::hugeint)" if scope.job else "sum(us::hugeint * weight)"


def _table(**columns: str) -> str:
    """A query that reads a JSON list of objects, given as its parameter, as rows."""
    fields = ", ".join(
        f"(row ->> '{name}')::{'varchar' if kind else 'bigint'} as {name}"
        for name, kind in columns.items()
    )
    return f"select {fields} from (select unnest(from_json(?::json, '[\"json\"]')) as row)"
