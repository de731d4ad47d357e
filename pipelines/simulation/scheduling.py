"""Who runs next: tiers, shares, gangs, reservations of those that waited, backfill, preemption.

A gang starts on all its nodes or not at all. One that waited long gets a reservation: free nodes
are gathered for it, and lent to preemptible jobs until it is complete. A job within its tenant's
guaranteed share, of a tier that is not preemptible, may have jobs of lower preemptible tiers
evicted for its reservation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from metrics.conventions import MINUTE_US
from pipelines.simulation.agenda import Agenda
from pipelines.simulation.cluster import PLAIN, SPARE, WARM, Cluster
from pipelines.simulation.lifecycle import JobRun, Lifecycle
from pipelines.simulation.outcomes import WaitingRow
from pipelines.simulation.recording import Recorder
from pipelines.simulation.scenario import Lapses
from pipelines.simulation.workload import DEVELOPMENT, GPUS_PER_NODE, TENANT_SHARES, guaranteed_gpus

AGED_US = 45 * MINUTE_US
"""A gang that waited so long gets a reservation."""
PREEMPTS_AFTER_US = {"interactive": 0, "standard": 10 * MINUTE_US}
"""How long a job within its share waits before others are evicted for it."""


@dataclass
class Reservation:
    """Nodes set aside for a waiting gang."""

    run: JobRun
    told_gpus: int = -1
    told_us: int = 0
    lent: dict[str, list[str]] = field(default_factory=dict)
    """Nodes lent to each backfill job."""


class Scheduler:
    """Looks through the queue whenever something changed."""

    def __init__(
        self,
        agenda: Agenda,
        cluster: Cluster,
        lifecycle: Lifecycle,
        recorder: Recorder,
        lapses: Lapses,
    ) -> None:
        self._agenda = agenda
        self._cluster = cluster
        self._lifecycle = lifecycle
        self._recorder = recorder
        self._lapses = lapses
        self._reservations: dict[str, Reservation] = {}
        """By pool: one at a time."""
        self._is_planned = False
        self._guaranteed = guaranteed_gpus(cluster.gpus)
        self._started: list[JobRun] = []
        """What started at this moment."""
        lifecycle.on_queue = self.look_soon

    def look_soon(self) -> None:
        """Look through the queue once everything of this moment has happened."""
        if not self._is_planned:
            self._is_planned = True
            self._agenda.after(0, self._look)

    def _look(self) -> None:
        self._is_planned = False
        for pool, reservation in list(self._reservations.items()):
            if reservation.run.status != "queued":
                self._end_reservation(pool)
            else:
                self._gather(pool, reservation)
        for run in self._queue():
            if run.is_restart:
                self._consider(run)
        self._cluster.replenish_spares()
        for run in self._queue():
            self._consider(run)
        if self._started:
            self._agenda.after(0, self._judge_shares)

    def _queue(self) -> list[JobRun]:
        waiting = [run for run in self._lifecycle.runs.values() if run.status == "queued"]
        return sorted(waiting, key=lambda r: (-r.plan.rank, not r.is_restart, r.submitted_us))

    def _consider(self, run: JobRun) -> None:
        pool = run.plan.pool
        nodes = self._free_for(run)
        if len(nodes) >= run.plan.nodes and not self._gives_way(run):
            self._start(run, nodes[: run.plan.nodes])
            return
        if self._lend(run):
            return
        reservation = self._reservations.get(pool)
        if reservation is None and self._deserves_reservation(run):
            reservation = self._reservations[pool] = Reservation(run)
            self._gather(pool, reservation)
        if run.status == "queued":
            if reservation is not None and reservation.run is run:
                self._preempt_for(run, reservation)
            self._lifecycle.pend(run, self._reason(run))

    def _free_for(self, run: JobRun) -> list[str]:
        pool = run.plan.pool
        roles = [run.plan.name, PLAIN]
        if run.is_restart:
            roles.append(SPARE)
        if run.plan.tier == "interactive":
            roles.append(WARM)
        if sum(self._cluster.count_free(pool, role) for role in roles) < run.plan.nodes:
            return []
        return [name for role in roles for name in self._cluster.free(pool, role)]

    def _gives_way(self, run: JobRun) -> bool:
        """Whether a job beyond its tenant's share leaves what is free to a reservation."""
        reservation = self._reservations.get(run.plan.pool)
        return reservation is not None and reservation.run is not run and self._over_share(run)

    def _over_share(self, run: JobRun) -> bool:
        plan = run.plan
        if plan.tier == "batch":
            return False
        held = sum(
            other.plan.gpus
            for other in self._lifecycle.runs.values()
            if other.nodes
            and other.plan.tenant == plan.tenant
            and other.plan.tier != "batch"
            and other.plan.pool == plan.pool
        )
        guaranteed = TENANT_SHARES[plan.tenant] * self._cluster.installed[plan.pool]
        return held > 0 and held + plan.gpus > guaranteed

    def _start(self, run: JobRun, nodes: list[str]) -> None:
        self._lifecycle.start(run, nodes)
        self._started.append(run)
        reservation = self._reservations.get(run.plan.pool)
        if reservation is not None and reservation.run is run:
            self._end_reservation(run.plan.pool)

    # What everybody is guaranteed.

    def _judge_shares(self) -> None:
        """Once all of a moment has happened: did a tenant get more than its guarantee too early?"""
        now = self._agenda.now_us
        held = {tenant: self._held(tenant) for tenant in self._guaranteed}
        for run in self._started:
            tenant = run.plan.tenant
            if run.plan.tier != "batch" and held[tenant] > self._guaranteed[tenant]:
                kept = not any(self._had_the_right(other, run, held) for other in self._queue())
                run.contracts.judge("guaranteed_share", now, kept)
        self._started = []

    def _held(self, tenant: str) -> int:
        """GPUs that a tenant's jobs hold of all pools, but for those on loan."""
        plans = [run.plan for run in self._lifecycle.runs.values() if run.nodes]
        return sum(p.gpus for p in plans if p.tenant == tenant and p.tier != "batch")

    def _had_the_right(self, other: JobRun, run: JobRun, held: dict[str, int]) -> bool:
        """Whether a job that still waits had a better right to the GPUs that another got now."""
        mine, theirs, since_us = run.plan, other.plan, other.competes_since_us
        return (
            since_us is not None
            and since_us < self._agenda.now_us
            and theirs.tier != "batch"
            and theirs.tenant != mine.tenant
            and theirs.pool == mine.pool
            and theirs.gpus <= mine.gpus
            and held[theirs.tenant] + theirs.gpus <= self._guaranteed[theirs.tenant]
        )

    # What is left.

    def waiting(self) -> Iterator[WaitingRow]:
        """Every job that waits now: for its first step, or again."""
        reservations = {r.run.plan.name: r for r in self._reservations.values()}
        for run in self._lifecycle.runs.values():
            is_first = run.truth.wait(self._agenda.now_us).censored
            if is_first or run.status == "queued":
                yield self._waits(run, not is_first, reservations.get(run.plan.name))

    def _waits(self, run: JobRun, is_again: bool, reservation: Reservation | None) -> WaitingRow:
        return WaitingRow(
            job=run.plan.name,
            since_us=run.queued_us if is_again else run.submitted_us,
            is_again=is_again,
            part="pending",
            reason=run.pending_reason,
            reason_since_us=run.pending_since_us,
            gpus=run.plan.gpus,
            gathered_gpus=reservation.told_gpus if reservation else None,
            gathered_since_us=reservation.told_us if reservation else None,
        )

    # Reservations.

    def _deserves_reservation(self, run: JobRun) -> bool:
        waited_us = self._agenda.now_us - run.queued_us
        if run.plan.tier in PREEMPTS_AFTER_US and not self._over_share(run):
            return waited_us >= PREEMPTS_AFTER_US[run.plan.tier]
        return run.plan.nodes > 1 and waited_us >= AGED_US

    def _gather(self, pool: str, reservation: Reservation) -> None:
        """Set free nodes aside, and take back what is lent once that completes the gang."""
        run = reservation.run
        reservation.lent = {
            name: nodes for name, nodes in reservation.lent.items() if self._is_lent(name, run)
        }
        lent = sum(len(nodes) for nodes in reservation.lent.values())
        have = self._cluster.count_free(pool, run.plan.name)
        roles = (PLAIN, SPARE) if run.is_restart else (PLAIN,)
        for role in roles:
            for name in self._cluster.free(pool, role)[: max(0, run.plan.nodes - have - lent)]:
                node = self._cluster.nodes[name]
                node.reserved_for = run.plan.name
                self._cluster.changed(node)
                have += 1
        self._tell_reservation(reservation, have + lent)
        if have + lent >= run.plan.nodes:
            for name in reservation.lent:
                self._lifecycle.evict(self._lifecycle.runs[name], "preemption", run)

    def _is_lent(self, name: str, run: JobRun) -> bool:
        borrower = self._lifecycle.runs.get(name)
        return borrower is not None and borrower.lent_for == run.plan.name

    def _tell_reservation(self, reservation: Reservation, nodes: int) -> None:
        plan = reservation.run.plan
        gpus = nodes * GPUS_PER_NODE[plan.pool]
        if gpus == reservation.told_gpus:
            return
        event = "reservation_started" if reservation.told_gpus < 0 else "reservation_updated"
        reservation.told_gpus, reservation.told_us = gpus, self._agenda.now_us
        self._recorder.event(self._agenda.now_us, event=event, job=plan.name, gpus_gathered=gpus)

    def _end_reservation(self, pool: str) -> None:
        reservation = self._reservations.pop(pool)
        name = reservation.run.plan.name
        for borrower in reservation.lent:
            if self._is_lent(borrower, reservation.run):
                self._lifecycle.end_loan(self._lifecycle.runs[borrower])
        for node in self._cluster.nodes.values():
            if node.reserved_for == name:
                node.reserved_for, node.lent = None, False
                self._cluster.changed(node)
        self._recorder.event(
            self._agenda.now_us,
            event="reservation_ended",
            job=name,
            gpus_gathered=max(reservation.told_gpus, 0),
        )

    def _lend(self, run: JobRun) -> bool:
        """Start a preemptible job on gathered nodes that wait for the rest of their gang."""
        reservation = self._reservations.get(run.plan.pool)
        if reservation is None or reservation.run is run:
            return False
        if run.plan.tier != "batch" and not self._lifecycle.lapses(self._lapses.open_loans):
            return False
        gathered = self._cluster.free(run.plan.pool, reservation.run.plan.name)
        lent = sum(len(nodes) for nodes in reservation.lent.values())
        if len(gathered) < run.plan.nodes or len(gathered) + lent >= reservation.run.plan.nodes:
            return False
        nodes = gathered[: run.plan.nodes]
        reservation.lent[run.plan.name] = nodes
        self._lifecycle.start(run, nodes, lent_for=reservation.run.plan.name)
        self._started.append(run)
        return True

    # Preemption.

    def _preempt_for(self, run: JobRun, reservation: Reservation) -> None:
        """Evict jobs of lower preemptible tiers, the youngest first, until the gang fits."""
        if run.plan.tier not in PREEMPTS_AFTER_US or self._over_share(run):
            return
        if self._agenda.now_us - run.queued_us < PREEMPTS_AFTER_US[run.plan.tier]:
            return
        pool = run.plan.pool
        coming = self._cluster.count_free(pool, run.plan.name)
        coming += sum(len(nodes) for nodes in reservation.lent.values())
        victims = []
        for other in self._lifecycle.runs.values():
            if other.plan.pool != pool or not other.nodes or other.lent_for is not None:
                continue
            if other.is_evicted or other.status == "stopping":
                coming += len(other.nodes)
            elif other.is_active and self._may_evict(run, other):
                victims.append(other)
        missing = run.plan.nodes - coming
        if sum(len(v.nodes) for v in victims) < missing:
            return
        for victim in sorted(victims, key=lambda v: -v.submitted_us):
            if missing <= 0:
                return
            missing -= len(victim.nodes)
            self._lifecycle.evict(victim, "preemption", run)

    def _may_evict(self, run: JobRun, other: JobRun) -> bool:
        if self._lifecycle.lapses(self._lapses.ignored_tiers):
            return True
        return other.plan.tier == "batch" and other.plan.rank < run.plan.rank

    def _reason(self, run: JobRun) -> str:
        if self._over_share(run):
            return "quota"
        capped = self._cluster.count_in_state(run.plan.pool, "power_capped")
        if capped >= run.plan.nodes:
            return "power"
        if run.plan.nodes > 1 and run.plan.pool != DEVELOPMENT:
            return "gang_size"
        return "priority"
