"""The life of a job on the cluster: queue, launch, load, steps, interruption, again; and its end.

Each change of a job goes three ways at once: to the recorder (what the platform writes down), to
the job's truth, and to the nodes that it holds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from metrics.conventions import HOUR_US, MINUTE_US, US_PER_S
from pipelines.simulation.agenda import Agenda
from pipelines.simulation.cluster import Cluster
from pipelines.simulation.contracts import GRACE_US, Account, JobContracts
from pipelines.simulation.outcomes import Breach, RestartRow
from pipelines.simulation.recording import Recorder, seconds
from pipelines.simulation.scenario import Scenario
from pipelines.simulation.sharing import ShareTruth
from pipelines.simulation.stepping import Sink, StepArrays, Stepper
from pipelines.simulation.truth import JobTruth, Place, Stretch, Window
from pipelines.simulation.workload import JobPlan

KEPT_CHECKPOINTS = 4
UNRECORDED_SHARE = 0.03
NO_SIGNAL_SHARE, SHORT_GRACE_SHARE = 0.03, 0.04
PATIENCE_US = 15 * MINUTE_US
"""After how long in the queue a person gives up on an interactive session."""
OVERSTAY_US = 10 * MINUTE_US
"""How long after its grace window a loan leaves that leaves late."""
LATE_DATA_US = 5 * US_PER_S
COMPETING = ("quota", "gang_size", "priority")
"""Reasons of a job that waits because others have the GPUs."""


@dataclass
class JobRun:
    """A job as it goes."""

    plan: JobPlan
    number: int
    truth: JobTruth
    contracts: JobContracts
    submitted_us: int
    rng: np.random.Generator
    slot: int | None
    """The slot of a training job, which another one follows; None for short jobs."""
    status: str = "held"
    """held, queued, launching, running (without steps), stepping, stopping, parked, closing or
    ended"""
    queued_us: int = 0
    attempt: int = -1
    token: int = 0
    """Counts what would make earlier plans for the job void."""
    nodes: list[str] = field(default_factory=list)
    stepper: Stepper | None = None
    stop_us: int = 0
    """When the attempt stopped that is stopping."""
    stops: dict[int, str] = field(default_factory=dict)
    checkpoints: list[int] = field(default_factory=lambda: [0])
    """Steps that it could resume from, in order; 0 is from scratch."""
    resume: int = 0
    goes_back: bool = False
    """Its owner wants an older checkpoint than the newest."""
    lost_checkpoints: int = 0
    """How many of the newest the storage lost."""
    work_left_us: int = 0
    running_since_us: int = 0
    doomed: tuple[str, str | None, int] | None = None
    is_evicted: bool = False
    pending_reason: str = ""
    pending_since_us: int = 0
    competes_since_us: int | None = None
    """Since when it waits without a break because others have the GPUs."""
    held_since_us: int = 0
    lent_for: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether its gang is at work."""
        return self.status in ("launching", "running", "stepping")

    @property
    def is_restart(self) -> bool:
        """Whether it has run before."""
        return self.attempt >= 0


class Lifecycle:
    """Moves jobs through their life."""

    def __init__(
        self,
        scenario: Scenario,
        agenda: Agenda,
        cluster: Cluster,
        recorder: Recorder,
        windows: list[Window],
    ) -> None:
        self.runs: dict[str, JobRun] = {}
        """Jobs that have not ended, by name."""
        self.account = Account()
        self.shares = ShareTruth()
        self.slow_nodes: dict[str, float] = {}
        """Factor by which a step waits for a node that is slow."""
        self.on_queue: Callable[[], None] = lambda: None
        """Told when a job joins the queue, or nodes are released."""
        self.on_end: Callable[[JobRun, int, list[RestartRow], bool], None]
        self._scenario = scenario
        self._agenda = agenda
        self._cluster = cluster
        self._recorder = recorder
        self._windows = windows
        self._count = 0
        self._lapses = np.random.default_rng([scenario.seed, 5])

    def lapses(self, share: float) -> bool:
        """Whether the platform breaks a contract now that it breaks on this share of occasions."""
        return share > 0 and bool(self._lapses.random() < share)

    # Submission.

    def submit(self, plan: JobPlan, slot: int | None = None) -> None:
        """A job enters the queue, or is held before it."""
        now = self._agenda.now_us
        truth = JobTruth(plan.name, plan.tier, now, plan.expected_step_us, self._windows)
        self._count += 1
        rng = np.random.default_rng([self._scenario.seed, 4, self._count])
        contracts = JobContracts(plan, self.account)
        run = JobRun(plan, self._count, truth, contracts, now, rng, slot, work_left_us=plan.run_us)
        run.stops = _planned_stops(plan)
        self.runs[plan.name] = run
        interval_us = plan.checkpoint_every_steps * plan.step_us
        self._recorder.event(
            now,
            event="job_submitted",
            job=plan.name,
            tier=plan.tier,
            tenant=plan.tenant,
            user=plan.user,
            name=plan.title,
            gpus=plan.gpus,
            expected_duration_s=_maybe_seconds(plan.expected_duration_us),
            checkpoint_interval_s=seconds(interval_us)
            if plan.names_interval and interval_us
            else None,
            expected_step_s=_maybe_seconds(plan.expected_step_us),
            code_version=f"r{run.number % 37}",
            data_version=f"d{run.number % 5}",
        )
        if plan.hold_reason is not None:
            self.pend(run, plan.hold_reason)
            self._agenda.after(plan.hold_us, partial(self._enqueue, run))
        else:
            self._enqueue(run)
        if plan.tier == "interactive":
            self._agenda.after(plan.hold_us + PATIENCE_US, partial(self._give_up, run))

    def pend(self, run: JobRun, reason: str) -> None:
        """Why a job waits from now on, if that is news."""
        now = self._agenda.now_us
        if reason == run.pending_reason:
            return
        run.pending_reason, run.pending_since_us = reason, now
        if reason not in COMPETING:
            run.competes_since_us = None
        elif run.competes_since_us is None:
            run.competes_since_us = now
        run.truth.turned(now, "pending", reason)
        self._recorder.event(now, event="job_pending", job=run.plan.name, reason=reason)

    def _enqueue(self, run: JobRun) -> None:
        if run.status == "ended":
            return
        run.status = "queued"
        run.queued_us = self._agenda.now_us
        self.on_queue()

    def _give_up(self, run: JobRun) -> None:
        if run.status in ("held", "queued") and not run.is_restart:
            self._end(run, "cancelled")

    # Launch.

    def start(self, run: JobRun, nodes: list[str], lent_for: str | None = None) -> None:
        """The gang gets all its nodes at once."""
        now, plan = self._agenda.now_us, run.plan
        if len(nodes) != plan.nodes:
            raise ValueError(f"{plan.name}: a gang of {plan.nodes} cannot start on {len(nodes)}")
        if len(nodes) > 1 and self.lapses(self._scenario.lapses.partial_gangs):
            nodes = nodes[1:]
        run.attempt += 1
        run.token += 1
        run.status, run.is_evicted, run.pending_reason = "launching", False, ""
        run.nodes, run.lent_for = nodes, lent_for
        run.competes_since_us, run.held_since_us = None, now
        for name in nodes:
            node = self._cluster.nodes[name]
            node.holder, node.lent = plan.name, lent_for is not None
            self._cluster.changed(node)
        gpus = sum(self._cluster.nodes[name].gpus for name in nodes)
        self._tell(run, "resources_allocated", nodes=nodes, gpus=gpus)
        run.truth.allocated(now, run.attempt, frozenset(nodes))
        run.contracts.allocated(now, gpus, run.attempt)
        if lent_for is not None:
            self._lent("backfill_started", run)
            run.contracts.lent(now, lent_for)
        self._launch(run)

    def _launch(self, run: JobRun) -> None:
        """Lay out what follows from an allocation."""
        now, plan = self._agenda.now_us, run.plan
        launch_us = self._lasts(run, 30 * US_PER_S)
        staged_us = now + int(launch_us * run.rng.uniform(0.2, 0.9))
        is_late = self.lapses(self._scenario.lapses.late_data)
        if is_late:
            staged_us = now + launch_us + LATE_DATA_US
        self._later(run, staged_us, partial(self._staged, run))
        self._later(run, now + launch_us, partial(self._process_started, run, not is_late))
        if run.attempt == 0 and plan.cancel_us:
            self._agenda.after(plan.cancel_us, partial(self.cancel, run))
        failure_us = int(run.rng.exponential(self._scenario.rates.software_mtbf_us))
        self._later(run, now + failure_us, partial(self._software_fails, run))

    def _staged(self, run: JobRun) -> None:
        self._tell(run, "data_staged")
        run.contracts.staged()

    def _process_started(self, run: JobRun, is_staged: bool) -> None:
        now = self._agenda.now_us
        if run.plan.tells_process:
            run.contracts.process_started(now, is_staged)
            self._tell(run, "process_started")
            run.truth.reached(Place.PROCESS, now, run.attempt)
        if run.plan.instrumented:
            self._later(run, now + self._lasts(run, 100 * US_PER_S), partial(self._loaded, run))
            return
        run.status, run.running_since_us = "running", now
        self._later(run, now + run.work_left_us, partial(self._end, run, "completed"))
        if run.doomed is not None:
            cause, node, delay_us = run.doomed
            self.kill(run, cause, delay_us, node)

    def _loaded(self, run: JobRun) -> None:
        now = self._agenda.now_us
        self._choose_checkpoint(run)
        self._tell(
            run,
            "checkpoint_loaded",
            step=run.resume,
            location=f"store://checkpoints/{run.plan.name}/{run.resume}" if run.resume else None,
            deliberate=True if run.goes_back else None,
        )
        run.truth.reached(Place.LOADED, now, run.attempt)
        compile_us = int(run.rng.uniform(8, 60) * US_PER_S)
        first_us = int(run.plan.step_us * run.rng.uniform(1.0, 1.6)) + compile_us
        self._later(run, now + first_us, partial(self._first_step, run, first_us))

    def _choose_checkpoint(self, run: JobRun) -> None:
        """The newest that is there; after a storage failure, or a loss spike, an older one."""
        back = 0
        if run.goes_back:
            back = int(run.rng.integers(1, 3))
        back = max(back, run.lost_checkpoints)
        back = min(back, len(run.checkpoints) - 1)
        del run.checkpoints[len(run.checkpoints) - back :]
        run.resume, run.lost_checkpoints = run.checkpoints[-1], 0

    def _first_step(self, run: JobRun, length_us: int) -> None:
        now, plan, number = self._agenda.now_us, run.plan, run.resume + 1
        zero = np.zeros(1, np.int64)
        first = StepArrays(
            number, zero + now, zero + length_us, zero + plan.step_us // 10, zero, zero, zero
        )
        self._recorder.steps(plan.name, run.attempt, first)
        run.truth.first_step(now, run.attempt, run.resume, run.goes_back)
        run.contracts.resumed(run.resume)
        self._breach_of_durability(run)
        run.goes_back = False
        run.status = "stepping"
        last = max(plan.steps, run.resume + 3)
        sink = Sink(
            run.truth,
            partial(self._recorder.steps, plan.name),
            partial(self._stepper_event, run),
            partial(self._checkpointed, run),
        )
        run.stepper = Stepper(plan, run.attempt, number, now, last, run.stops, run.rng, sink)
        slow = self._slow_node(run)
        if slow is not None:
            run.stepper.straggle(now, slow)
        self.replan(run)

    def _stepper_event(self, run: JobRun, at_us: int, fields: dict[str, Any]) -> None:
        self._recorder.event(at_us, **fields)
        if fields["event"] == "checkpoint_completed":
            run.contracts.saved(at_us)
        elif fields["event"] == "job_suspended":
            run.stops.pop(run.plan.suspend_step, None)

    def _checkpointed(self, run: JobRun, step: int) -> None:
        if step <= run.checkpoints[-1]:
            return
        run.checkpoints.append(step)
        if len(run.checkpoints) > KEPT_CHECKPOINTS:
            run.checkpoints.pop(0)
        run.truth.prune(run.checkpoints[0])

    def _breach_of_durability(self, run: JobRun) -> None:
        promised_us = run.plan.checkpoint_every_steps * run.plan.step_us
        for at_us, attempt, lost_us in run.truth.storage_losses:
            if promised_us and lost_us > promised_us:
                self.account.breaches.append(
                    Breach(run.plan.name, attempt, "durability", at_us, promised_us, lost_us)
                )
        run.truth.storage_losses.clear()

    # Going on.

    def tick(self) -> None:
        """Hand over what every job did up to now, and lay out the next hour."""
        for run in self.runs.values():
            if run.status == "stepping" and run.stepper is not None:
                run.stepper.commit(self._agenda.now_us)
                self.replan(run)

    def replan(self, run: JobRun) -> None:
        """Lay out steps up to the next hour, and expect the end that lies in it."""
        if run.stepper is None:
            return
        now = self._agenda.now_us
        horizon = now - now % HOUR_US + HOUR_US
        end = run.stepper.extend(horizon)
        run.token += 1
        if end is not None and end[0] <= horizon:
            self._agenda.at(max(end[0], now), partial(self._by_itself, run, run.token, end[1]))

    def straggle(self, run: JobRun) -> None:
        """The speed of the job's slowest node changed."""
        if run.status == "stepping" and run.stepper is not None:
            run.stepper.straggle(self._agenda.now_us, self._slow_node(run))
            self.replan(run)

    def stall(self, run: JobRun, length_us: int) -> None:
        """After the step at work the job does nothing for a while."""
        if run.status == "stepping" and run.stepper is not None:
            run.stepper.stall(self._agenda.now_us, length_us)
            self.replan(run)

    def _slow_node(self, run: JobRun) -> tuple[str, float] | None:
        slow = [(self.slow_nodes[n], n) for n in run.nodes if n in self.slow_nodes]
        return (max(slow)[1], max(slow)[0]) if slow else None

    def _by_itself(self, run: JobRun, token: int, how: str) -> None:
        if token != run.token or run.status != "stepping" or run.stepper is None:
            return
        if how == "completed":
            self._end(run, "completed")
        elif how in ("error", "rollback"):
            run.stops = {step: kind for step, kind in run.stops.items() if kind != how}
            run.goes_back = how == "rollback"
            is_final = how == "error" and run.plan.error_is_final
            delay_us = int(run.rng.integers(US_PER_S, 20 * US_PER_S))
            self.kill(run, "job_error", delay_us, is_final=is_final)
        elif how == "parked":
            self._park(run, run.stepper)
        elif how == "vanished":
            self._vanish(run, run.stepper)

    def _park(self, run: JobRun, stepper: Stepper) -> None:
        """Its owner suspends the job, which gives its nodes back until it is resumed."""
        now = self._agenda.now_us
        stepper.commit(now)
        run.stops.pop(run.plan.suspend_step)
        self._recorder.event(now, event="job_suspended", job=run.plan.name)
        suspension = Stretch(now, now + run.plan.suspend_us, None)
        run.truth.stopped([*stepper.open_trail(now), suspension])
        run.status, run.stepper = "parked", None
        run.token += 1
        self._release(run)
        self._agenda.after(run.plan.suspend_us, partial(self._unpark, run))

    def _unpark(self, run: JobRun) -> None:
        self._recorder.event(self._agenda.now_us, event="job_resumed", job=run.plan.name)
        self._enqueue(run)

    def _vanish(self, run: JobRun, stepper: Stepper) -> None:
        """Nobody hears of the job any more, until somebody looks after it."""
        now = self._agenda.now_us
        stepper.commit(now)
        run.status, run.stop_us = "stopping", now
        run.token += 1
        self._agenda.after(int(run.rng.uniform(4, 40) * HOUR_US), partial(self._end, run, "failed"))

    # Interruption.

    def _software_fails(self, run: JobRun) -> None:
        cause = str(run.rng.choice(["software", "network", "unknown"], p=[0.5, 0.3, 0.2]))
        self.kill(run, cause, int(run.rng.uniform(5, 400) * US_PER_S))

    def kill(
        self,
        run: JobRun,
        cause: str,
        delay_us: int,
        node: str | None = None,
        is_final: bool = False,
    ) -> None:
        """The attempt stops now; the platform notices after a delay."""
        if not run.is_active:
            return
        if not run.plan.instrumented and run.status == "launching":
            run.doomed = (cause, node, max(delay_us, 1))
            return
        now = self._agenda.now_us
        if run.status == "stepping" and run.stepper is not None:
            run.stepper.commit(now)
        if run.status == "running":
            run.work_left_us = max(MINUTE_US, run.work_left_us - (now - run.running_since_us))
        run.status, run.stop_us, run.doomed = "stopping", now, None
        run.token += 1
        self._agenda.after(delay_us, partial(self._interrupted, run, cause, node, is_final))

    def _interrupted(self, run: JobRun, cause: str, node: str | None, is_final: bool) -> None:
        now = self._agenda.now_us
        stepper = run.stepper
        if stepper is not None and stepper.suspended_at(run.stop_us):
            self._recorder.event(now, event="job_resumed", job=run.plan.name)
        trail = stepper.open_trail(run.stop_us) if stepper is not None else []
        if self._goes_unrecorded(run, cause):
            run.truth.stopped(trail)
        else:
            self._tell(run, "interruption", cause=cause, node=node)
            run.truth.interrupted(now, run.attempt, cause, trail)
        is_lost = cause == "preemption" and self.lapses(self._scenario.lapses.lost_requeues)
        if cause == "preemption":
            run.contracts.reclaimed(now, run.truth.last_step_of(run.attempt), not is_lost)
        run.contracts.stopped()
        run.stepper = None
        if is_lost:
            self._end(run, "failed")
            return
        self._release(run)
        if is_final:
            run.status = "closing"
            self._agenda.after(
                int(run.rng.integers(US_PER_S, 60 * US_PER_S)), partial(self._end, run, "failed")
            )
        else:
            self._enqueue(run)

    @staticmethod
    def _goes_unrecorded(run: JobRun, cause: str) -> bool:
        """Whether the platform requeues a job without a word about what stopped it."""
        if run.stepper is None or cause in ("preemption", "maintenance", "job_error"):
            return False
        return bool(run.rng.random() < UNRECORDED_SHARE) and not run.stepper.suspended_at(
            run.stop_us
        )

    def evict(self, run: JobRun, cause: str, by: JobRun | None = None) -> None:
        """Take the nodes of a job back: signal, grace window, reclaim, requeue."""
        if run.is_evicted or not run.is_active:
            return
        run.is_evicted = True
        now, attempt = self._agenda.now_us, run.attempt
        grace_us, chance = GRACE_US, run.rng.random()
        if by is not None:
            is_signalled = chance >= NO_SIGNAL_SHARE
            run.contracts.preempted(now, by.plan, is_signalled)
            if not is_signalled:
                self.kill(run, cause, US_PER_S)
                return
            by_job = by.plan.name
            self._tell(run, "preemption_signal", grace_s=seconds(GRACE_US), by_job=by_job)
            if chance < NO_SIGNAL_SHARE + SHORT_GRACE_SHARE:
                grace_us = int(GRACE_US * run.rng.uniform(0.05, 0.4))
        done_us = None
        if run.status == "stepping" and run.stepper is not None:
            done_us = run.stepper.checkpoint_now(now, run.plan.save_us, now + grace_us)
            self.replan(run)
        reclaim_us = now + grace_us if done_us is None else min(done_us + US_PER_S, now + grace_us)
        if run.lent_for is not None and self.lapses(self._scenario.lapses.late_returns):
            reclaim_us += OVERSTAY_US
        self._agenda.at(reclaim_us, partial(self._reclaim, run, attempt, cause))

    def _reclaim(self, run: JobRun, attempt: int, cause: str) -> None:
        if run.attempt == attempt and run.is_active:
            self.kill(run, cause, 1)

    def _release(self, run: JobRun) -> None:
        self.end_loan(run)
        self._count_held(run, self._agenda.now_us)
        for name in run.nodes:
            node = self._cluster.nodes[name]
            node.holder, node.lent = None, False
            self._cluster.changed(node)
        run.nodes = []
        self.on_queue()

    def end_loan(self, run: JobRun) -> None:
        """A backfill job leaves, or may keep its nodes because nobody waits for them any more."""
        if run.lent_for is not None:
            self._lent("backfill_ended", run)
            run.contracts.returned(self._agenda.now_us)
            run.lent_for = None

    def _count_held(self, run: JobRun, until_us: int) -> None:
        """Book what it held of its tenant's share."""
        if not run.nodes:
            return
        gpus = sum(self._cluster.nodes[name].gpus for name in run.nodes)
        self.shares.add(run.plan.tenant, gpus, run.held_since_us, until_us)

    # The end.

    def cancel(self, run: JobRun) -> None:
        """Its owner cancels a job; one that is just stopping goes on."""
        if run.status == "queued" or run.is_active:
            self._end(run, "cancelled")

    def _end(self, run: JobRun, outcome: str) -> None:
        now = self._agenda.now_us
        trail = self._last_trail(run)
        self._recorder.event(now, event="job_ended", job=run.plan.name, outcome=outcome)
        restarts = run.truth.finish(now, True, trail)
        run.status, run.stepper = "ended", None
        run.token += 1
        del self.runs[run.plan.name]
        self._release(run)
        run.contracts.finish(now, restarts, run.truth.lost_us)
        self.on_end(run, now, restarts, True)

    def finish(self) -> None:
        """The simulated time is over: close the truth of every job that has not ended."""
        now = self._agenda.now_us
        for run in self.runs.values():
            trail = self._last_trail(run)
            last_us = self._recorder.last_of(run.plan.name)
            end_us = last_us if run.truth.is_silent(now, last_us, trail) else now
            restarts = run.truth.finish(end_us, False, trail)
            self._count_held(run, end_us)
            run.contracts.finish(now, restarts, run.truth.lost_us)
            self.on_end(run, end_us, restarts, False)

    def _last_trail(self, run: JobRun) -> list[Stretch]:
        """Hand over the last steps of a job, and tell what followed them."""
        if run.stepper is None:
            return []
        if run.status == "stepping":
            run.stop_us = self._agenda.now_us
            run.stepper.commit(run.stop_us)
        return run.stepper.open_trail(run.stop_us)

    # Telling.

    def _tell(self, run: JobRun, event: str, **fields: Any) -> None:
        self._recorder.event(
            self._agenda.now_us, event=event, job=run.plan.name, attempt=run.attempt, **fields
        )

    def _lent(self, event: str, run: JobRun) -> None:
        self._recorder.event(
            self._agenda.now_us,
            event=event,
            job=run.plan.name,
            for_job=run.lent_for,
            gpus=run.plan.gpus,
            preemptible=True,
        )

    def _later(self, run: JobRun, at_us: int, action: Callable[[], None]) -> None:
        """Do something unless the attempt is over by then."""
        attempt = run.attempt

        def if_still_at_it() -> None:
            if run.attempt == attempt and run.is_active:
                action()

        self._agenda.at(at_us, if_still_at_it)

    @staticmethod
    def _lasts(run: JobRun, typical_us: int) -> int:
        """How long a start takes: log-normal, longer for larger gangs."""
        size = 1 + 0.15 * np.log2(run.plan.nodes)
        return max(US_PER_S, int(typical_us * size * run.rng.lognormal(0, 0.4)))


def _planned_stops(plan: JobPlan) -> dict[int, str]:
    """What stops the job by itself, by the step after which it does."""
    planned = {
        plan.suspend_step: "parked" if plan.parks else "suspended",
        plan.error_step: "error",
        plan.rollback_step: "rollback",
        plan.vanish_step: "vanished",
    }
    return {step: kind for step, kind in planned.items() if step}


def _maybe_seconds(us: int | None) -> float | None:
    return None if us is None else seconds(us)
