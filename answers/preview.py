"""What a planned change of some nodes would cost, before anybody agrees to it."""

from collections.abc import Collection
from typing import Any

from answers.budgets import Moment, Report
from answers.facts import Facts
from answers.freezes import gating
from answers.moments import rfc3339
from metrics.budget import Amount, Budget, State
from metrics.documents import closest
from metrics.errors import UsageError
from metrics.planner import Interrupted, after, cheapest_hours
from metrics.scope import Scope


def preview(
    facts: Facts, change: str, nodes: list[str], away_us: int, at_us: int
) -> dict[str, Any]:
    """The jobs on the nodes, what each would lose, and the fleet's budgets before and after.

    `would_freeze` is None where the data are too old at that moment to tell.
    Raises UsageError for a node that no allocation names, and where none is named.
    """
    _refuse_unknown(nodes, facts.nodes())
    assumed_us = facts.policy.restart_limit_us
    hit = [Interrupted(**row) for row in facts.jobs_on(nodes)]
    losses = {job.job: job.lost_us(away_us, assumed_us) for job in hit}
    moment = Moment.of(facts, at_us)
    found = [
        _changed(facts, Report(facts, moment, series), hit, losses)
        for series in gating(facts, Scope(), at_us)
    ]
    return {
        "change": change,
        "nodes": nodes,
        "at": rfc3339(at_us),
        "data_through": rfc3339(moment.data_through_us),
        "jobs": [_hit(job, losses[job.job]) for job in hit],
        "budgets": found,
        "would_freeze": None if moment.stale else any(row["exhausts"] for row in found),
        "cheapest_hours": [
            {"hour": rfc3339(hour_us), "gpu_us": work}
            for hour_us, work in cheapest_hours(facts.work(), at_us)
        ],
    }


def _refuse_unknown(nodes: list[str], known: Collection[str]) -> None:
    if not nodes:
        raise UsageError("--nodes: names none; say them like gpu-17,gpu-18")
    for node in nodes:
        if node not in known:
            raise UsageError(
                f"--nodes {node}: no allocation names it{closest(node, sorted(known))}"
            )


def _hit(job: Interrupted, lost_us: int) -> dict[str, Any]:
    return {
        "job": job.job,
        "gpus": job.gpus,
        "restart_us": job.restart_us,
        "checkpoint_interval_us": job.interval_us,
        "lost_us": lost_us,
    }


def _changed(
    facts: Facts, report: Report, hit: list[Interrupted], losses: dict[str, int]
) -> dict[str, Any]:
    series = report.series
    before = report.budget
    large = [job for job in hit if facts.jobs[job.job]["large_us"] is not None]
    if series.measure == "goodput":
        charged = [
            losses[job.job] * job.gpus
            for job in large
            if facts.jobs[job.job]["instrumented"] and _is_charged(facts, job.job)
        ]
        amount = after(before.amount, charged)
    elif series.measure == "time_to_restart":
        missed = sum(losses[job.job] >= facts.policy.restart_limit_us for job in large)
        amount = Amount(before.amount.total + len(large), before.amount.bad + missed)
    else:
        amount = before.amount
    changed = Budget(amount, series.target)
    states = [series.state(total) for total in (before.amount, amount)]
    exhausts = states[0] is not State.EXHAUSTED and states[1] is State.EXHAUSTED
    return {
        "slo": series.slo,
        "scope": str(series.scope),
        "unit": series.unit.value,
        "state": report.state.value,
        "remaining": before.remaining,
        "remaining_after": changed.remaining,
        "exhausts": exhausts,
    }


def _is_charged(facts: Facts, job: str) -> bool:
    tier = facts.jobs[job]["tier"]
    charge = facts.policy.charged_to("maintenance", "requeue", "maintenance", tier)
    return charge == "platform"
