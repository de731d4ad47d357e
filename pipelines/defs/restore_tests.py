"""Restore tests by the clock: every large run at least every N days, oldest proof first."""

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

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
from pipelines.checkpoints.source import reading
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
    tested = _Tested(list(plan.left_out))
    for job in plan.tested:
        for checkpoint in saved[job]:
            tested.test(home, checkpoint)
    for job, why in tested.left_out:
        context.log.warning(f"{job} was not tested: {why}")
    return dg.MaterializeResult(
        metadata={
            "runs": len(plan.tested),
            "bytes": tested.read,
            "verdicts": tested.verdicts,
            "not_covered": [f"{job}: {why}" for job, why in tested.left_out],
        }
    )


@dataclass
class _Tested:
    """What came of a day's tests; `read`: the bytes that they read, at most."""

    left_out: list[tuple[str, str]]
    verdicts: list[str] = field(default_factory=list)
    read: int = 0

    def test(self, home: Home, saved: Saved) -> None:
        """Test one checkpoint within what is left of the day's bytes, and record it."""
        rules = _within(home.policy().checkpoints, self.read)
        try:
            answer = prove_saved(saved, rules)
        except HeadwayError as e:  # it says nothing of the checkpoint, and stops no other test
            self.left_out.append((saved.job, f"step {saved.step}: {e}"))
            if not isinstance(e, UsageError):  # it had begun
                self.read += _most_read(saved, rules) or rules.bytes_per_run or 0
            return
        self.read += answer["bytes_read"]
        if not was_deleted(saved, answer):
            record(home, saved, answer, now_us())
            self.verdicts.append(f"{saved.job}, step {saved.step}: {answer['result']}")


def _within(rules: Checkpoints, read: int) -> Checkpoints:
    """The rules with what is left of `bytes_per_run`: where nothing is, a byte, too few for any."""
    if rules.bytes_per_run is None:
        return rules
    return rules.model_copy(update={"bytes_per_run": max(rules.bytes_per_run - read, 1)})


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
        sizes = [_most_read(one, rules) for one in saved[run.job]]
        needed = None if None in sizes else sum(size or 0 for size in sizes)
        yield Candidate(run.job, run.last_pass_us, needed, hindrance)


def _most_read(saved: Saved, rules: Checkpoints) -> int | None:
    """What testing it reads at most; None where neither files nor records tell."""
    if saved.path is not None and saved.is_there:
        with suppress(Damage):
            return Layout.of(saved.path).reading
    if not rules.command:
        return 0  # that it is not there, or cannot be opened, is found without reading
    return None if saved.bytes is None else reading(saved.bytes)


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
