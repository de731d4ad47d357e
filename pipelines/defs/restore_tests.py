"""Restore tests by the clock: every large run at least every N days, oldest proof first."""

import random
from collections.abc import Iterator

import dagster as dg

from answers.clock import now_us
from answers.durability import durability
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import Mart, open_mart
from metrics.conventions import DAY_US
from metrics.durability import Candidate, Plan, plan_tests
from metrics.errors import HeadwayError, UsageError
from metrics.policy import Checkpoints
from metrics.rulings import Rulings
from metrics.scope import Scope
from pipelines.checkpoints.choosing import Saved, chosen, reachable
from pipelines.checkpoints.layout import Layout
from pipelines.checkpoints.recording import record
from pipelines.checkpoints.testing import prove_saved, was_deleted
from pipelines.checkpoints.verdicts import Damage
from pipelines.defs.site import Site

Chosen = dict[str, list[Saved]]


@dg.asset(
    deps=["mart"],
    description="Verdicts on the newest checkpoint of each large run that is due, and an older one;"
    " they go to the inbox as restore_test events.",
)
def restore_tests(context: dg.AssetExecutionContext, site: Site) -> dg.MaterializeResult[None]:
    home = site.places()
    plan, saved = due(home, now_us())
    verdicts, left_out, read = [], list(plan.left_out), 0
    for job in plan.tested:
        for checkpoint in saved[job]:
            try:
                answer = prove_saved(checkpoint, home.policy().checkpoints)
            except HeadwayError as e:  # it says nothing of the checkpoint, and stops no other test
                left_out.append((job, str(e)))
                continue
            if was_deleted(checkpoint, answer):
                continue
            record(home, checkpoint, answer, now_us())
            read += answer["bytes"]
            verdicts.append(f"{job}, step {checkpoint.step}: {answer['result']}")
    for job, why in left_out:
        context.log.warning(f"{job} was not tested: {why}")
    return dg.MaterializeResult(
        metadata={
            "runs": len(plan.tested),
            "bytes": read,
            "verdicts": verdicts,
            "not_covered": [f"{job}: {why}" for job, why in left_out],
        }
    )


def due(home: Home, at_us: int) -> tuple[Plan, Chosen]:
    """What is tested now, what is not and why, and the checkpoints chosen of each run.

    Raises NothingPublished.
    """
    rulings = Rulings(Journal(home).entries(), home.policy())
    rules = rulings.policy.checkpoints
    saved: Chosen = {}
    with open_mart(home) as mart:
        facts = Facts(mart, rulings.policy, rulings.adjustments(at_us))
        through_us = facts.data_through_us
        if through_us is None:
            return Plan((), ()), {}
        candidates = list(_candidates(mart, facts, rules, through_us, saved))
    # A day early: tomorrow it would be too late.
    every_us = max(rules.every_us - DAY_US, 0)
    return plan_tests(candidates, at_us, every_us, rules.bytes_per_run), saved


def _candidates(
    mart: Mart, facts: Facts, rules: Checkpoints, through_us: int, saved: Chosen
) -> Iterator[Candidate]:
    """Each large run that goes on, with what is chosen of it or why nothing can be."""
    for run in durability(facts, Scope(), through_us).runs:
        # A verdict is a record of the job: to one that went silent it would be a sign of life.
        if facts.jobs[run.job]["ended_us"] is not None or facts.jobs[run.job]["silent"]:
            continue
        try:
            found = chosen(mart, run.job, rules, random.Random())
        except UsageError as e:
            yield Candidate(run.job, run.last_pass_us, None, str(e))
            continue
        saved[run.job] = [one for one in found if reachable(one, rules)]
        hindrance = None
        if found[0] not in saved[run.job]:
            hindrance = (
                f"its checkpoint lies at {found[0].location}, no path here, and the policy has no"
                " checkpoints.command"
            )
        yield Candidate(run.job, run.last_pass_us, _bytes(saved[run.job]), hindrance)


def _bytes(saved: list[Saved]) -> int | None:
    """What testing them would read; None where neither records nor the files tell."""
    sizes = [one.bytes if one.bytes is not None else _on_disk(one) for one in saved]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _on_disk(saved: Saved) -> int | None:
    if saved.path is None or not saved.is_there:
        return None
    try:
        return Layout.of(saved.path).bytes
    except Damage:
        return None


restore_tests_job = dg.define_asset_job(
    "restore_tests_job",
    selection="restore_tests",
    description="Restore the newest checkpoints of runs whose proof is old or missing.",
)

daily_restore_tests = dg.ScheduleDefinition(
    name="daily_restore_tests",
    job=restore_tests_job,
    cron_schedule="15 3 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
