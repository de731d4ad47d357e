"""What goes wrong, and what is done to the cluster: failures, stragglers, storage, maintenance.

Failures of nodes are exponential with a rate per node. Where a rate changes with time (the bad
week), candidates come at the highest rate and are thinned, which keeps them exponential.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from metrics.conventions import DAY_US, HOUR_US, MINUTE_US, US_PER_S
from pipelines.simulation.agenda import Agenda
from pipelines.simulation.cluster import PLAIN, SPARE, Cluster, Node
from pipelines.simulation.contracts import GRACE_US
from pipelines.simulation.lifecycle import JobRun, Lifecycle
from pipelines.simulation.recording import Recorder, stamp
from pipelines.simulation.scenario import Scenario
from pipelines.simulation.truth import Window
from pipelines.simulation.workload import DEVELOPMENT, TRAINING

NOTICE_US = 12 * HOUR_US
"""How long before its start a maintenance window is announced."""
MAINTENANCE_EVERY_US = 2 * DAY_US
ROLLOUT_EVERY_US = 3 * DAY_US
POWER_CAP_EVERY_US = 3 * DAY_US
RESTORE_TEST_EVERY_US = 12 * HOUR_US
LOST_CHECKPOINTS = (0.98, 0.015, 0.005)
"""Chances that a storage failure costs a job none, one or two of its newest checkpoints."""
LOST_IN_BAD_WEEK = (0.4, 0.4, 0.2)
CHANGES = ("driver", "firmware", "kernel", "fabric")


class Hazards:
    """Plans everything that happens to the cluster from outside."""

    def __init__(
        self,
        scenario: Scenario,
        agenda: Agenda,
        cluster: Cluster,
        lifecycle: Lifecycle,
        recorder: Recorder,
        windows: list[Window],
    ) -> None:
        self._scenario = scenario
        self._rates = scenario.rates
        self._agenda = agenda
        self._cluster = cluster
        self._lifecycle = lifecycle
        self._recorder = recorder
        self._windows = windows
        self._rng = np.random.default_rng([scenario.seed, 2])
        self._numbers = dict.fromkeys(("window", "change"), 0)

    def begin(self) -> None:
        """Plan the first of each kind."""
        for node in self._cluster.nodes.values():
            self._await_failure(node)
            self._await_slowness(node)
        self._await_storage_failure()
        self._every(MAINTENANCE_EVERY_US, self._announce_window)
        self._every(ROLLOUT_EVERY_US, self._begin_rollout)
        self._every(POWER_CAP_EVERY_US, self._cap_power)
        self._every(RESTORE_TEST_EVERY_US, self._test_restores)

    def _every(self, mean_us: int, action: Callable[[], None]) -> None:
        """Do something now and then: half of the mean for certain, the rest at random."""

        def again() -> None:
            action()
            self._agenda.after(self._spread(mean_us), again)

        self._agenda.after(self._spread(mean_us) // 2, again)

    def _spread(self, mean_us: int) -> int:
        return int(mean_us * (0.5 + 0.5 * self._rng.exponential()))

    # Nodes.

    def _await_failure(self, node: Node) -> None:
        worst = self._rates.bad_week_nodes if self._scenario.bad_week else 1
        wait_us = int(self._rng.exponential(self._rates.node_mtbf_us / worst))
        self._agenda.after(wait_us, partial(self._node_fails, node, worst))

    def _node_fails(self, node: Node, worst: int) -> None:
        is_bad = self._scenario.is_bad(self._agenda.now_us)
        accepted = is_bad or self._rng.random() < 1 / worst
        if not accepted or node.is_down or node.is_in_maintenance:
            self._await_failure(node)
            return
        node.is_down = True
        self._cluster.changed(node)
        repair_us = self._rates.repair_min_us
        repair_us += int(self._rng.exponential(self._rates.repair_mean_us))
        self._agenda.after(repair_us, partial(self._repaired, node))
        cause = str(self._rng.choice(["hardware", "network", "unknown"], p=[0.65, 0.3, 0.05]))
        delay_us = int(self._rng.uniform(2, 300) * US_PER_S)
        run = self._holder(node)
        if run is not None:
            self._lifecycle.kill(run, cause, delay_us, node.name)

    def _repaired(self, node: Node) -> None:
        node.is_down = False
        self._cluster.changed(node)
        self._lifecycle.on_queue()
        self._await_failure(node)

    def _holder(self, node: Node) -> JobRun | None:
        return None if node.holder is None else self._lifecycle.runs.get(node.holder)

    def _await_slowness(self, node: Node) -> None:
        wait_us = int(self._rng.exponential(self._rates.straggler_mean_us))
        self._agenda.after(wait_us, partial(self._slows, node))

    def _slows(self, node: Node) -> None:
        self._lifecycle.slow_nodes[node.name] = float(self._rng.uniform(0.08, 0.8))
        self._straggle(node)
        self._agenda.after(int(self._rng.uniform(0.3, 10) * HOUR_US), partial(self._speeds, node))

    def _speeds(self, node: Node) -> None:
        self._lifecycle.slow_nodes.pop(node.name, None)
        self._straggle(node)
        self._await_slowness(node)

    def _straggle(self, node: Node) -> None:
        run = self._holder(node)
        if run is not None:
            self._lifecycle.straggle(run)

    # Storage.

    def _await_storage_failure(self) -> None:
        worst = self._rates.bad_week_storage if self._scenario.bad_week else 1
        wait_us = int(self._rng.exponential(self._rates.storage_mean_us / worst))
        self._agenda.after(wait_us, partial(self._storage_fails, worst))

    def _storage_fails(self, worst: int) -> None:
        is_bad = self._scenario.is_bad(self._agenda.now_us)
        if is_bad or self._rng.random() < 1 / worst:
            chances = LOST_IN_BAD_WEEK if is_bad else LOST_CHECKPOINTS
            for run in list(self._lifecycle.runs.values()):
                if run.status == "stepping" and self._rng.random() < 0.35:
                    run.lost_checkpoints = int(self._rng.choice(len(chances), p=chances))
                    self._lifecycle.kill(run, "storage", int(self._rng.uniform(5, 240) * US_PER_S))
        self._await_storage_failure()

    def _test_restores(self) -> None:
        for run in list(self._lifecycle.runs.values()):
            if run.plan.checkpoint_every_steps and run.checkpoints[-1]:
                self._recorder.event(
                    self._agenda.now_us,
                    event="restore_test",
                    job=run.plan.name,
                    step=run.checkpoints[-1],
                    result="fail" if self._rng.random() < 0.02 else "pass",
                    checks="shapes,checksums,loss",
                    duration_s=round(float(self._rng.uniform(20, 300)), 3),
                    location=f"store://checkpoints/{run.plan.name}/{run.checkpoints[-1]}",
                )

    # Maintenance.

    def _announce_window(self) -> None:
        """A window of one of three kinds: nodes that are drained, jobs that stall, everything."""
        self._numbers["window"] += 1
        kind = ("nodes", "all", "jobs")[self._numbers["window"] % 3]
        starts_us = self._agenda.now_us + NOTICE_US
        length = self._rng.uniform(2, 6) * HOUR_US if kind == "nodes" else 30 * MINUTE_US
        ends_us = starts_us + int(length)
        name = f"window-{self._numbers['window']}"
        nodes = self._some_nodes(0.04) if kind == "nodes" else []
        self._recorder.event(
            self._agenda.now_us,
            event="maintenance_planned",
            id=name,
            starts=stamp(starts_us),
            ends=stamp(ends_us),
            nodes=nodes or None,
            detail=f"planned work, affects {kind}",
        )
        for node in nodes:
            self._agenda.at(starts_us - GRACE_US, partial(self._drain, self._cluster.nodes[node]))
        self._agenda.at(starts_us, partial(self._open_window, name, kind, nodes, ends_us))

    def _open_window(self, name: str, kind: str, nodes: list[str], ends_us: int) -> None:
        now = self._agenda.now_us
        stalled = self._stepping() if kind == "all" else []
        if kind == "jobs":
            stalled = self._stepping()[:3]
        jobs = [run.plan.name for run in stalled] if kind == "jobs" else []
        told: dict[str, Any] = {"id": name, "nodes": nodes or None, "jobs": jobs or None}
        if kind == "jobs" and not jobs:
            return
        self._windows.append(Window(now, ends_us, frozenset(jobs), frozenset(nodes)))
        self._recorder.event(now, event="maintenance_started", **told)
        for node_name in nodes:
            self._take(self._cluster.nodes[node_name])
        for run in stalled:
            self._lifecycle.stall(run, int(self._rng.uniform(1, 20) * MINUTE_US))
        self._agenda.at(ends_us, partial(self._close_window, told))

    def _close_window(self, told: dict[str, Any]) -> None:
        self._recorder.event(self._agenda.now_us, event="maintenance_ended", **told)
        for name in told["nodes"] or ():
            self._give_back(self._cluster.nodes[name])

    def _stepping(self) -> list[JobRun]:
        return [run for run in self._lifecycle.runs.values() if run.status == "stepping"]

    def _some_nodes(self, share: float) -> list[str]:
        names = [name for name, node in self._cluster.nodes.items() if node.pool == TRAINING]
        chosen = self._rng.choice(len(names), max(1, int(share * len(names))), replace=False)
        return sorted(names[i] for i in chosen)

    def _drain(self, node: Node) -> None:
        node.is_draining = True
        self._cluster.changed(node)
        run = self._holder(node)
        if run is not None:
            self._lifecycle.evict(run, "maintenance")

    def _take(self, node: Node) -> None:
        node.is_draining, node.is_in_maintenance = False, True
        self._cluster.changed(node)

    def _give_back(self, node: Node) -> None:
        node.is_draining = node.is_in_maintenance = False
        self._cluster.changed(node)
        self._lifecycle.on_queue()

    # Changes.

    def _begin_rollout(self) -> None:
        """A rollout drains its nodes a few at a time, and works on each for a while."""
        self._numbers["change"] += 1
        nodes = self._some_nodes(0.05)
        change = str(self._rng.choice(CHANGES))
        told: dict[str, Any] = {
            "id": f"change-{self._numbers['change']}",
            "change": change,
            "nodes": nodes,
        }
        self._recorder.event(
            self._agenda.now_us, event="change_started", scope="training nodes", **told
        )
        batch = max(1, len(nodes) // 4)
        moment_us = 0
        for i in range(0, len(nodes), batch):
            for name in nodes[i : i + batch]:
                node = self._cluster.nodes[name]
                self._agenda.after(moment_us, partial(self._drain, node))
                self._agenda.after(moment_us + 2 * GRACE_US, partial(self._take, node))
                done_us = moment_us + 2 * GRACE_US + 15 * MINUTE_US
                self._agenda.after(done_us, partial(self._give_back, node))
            moment_us += 30 * MINUTE_US
        self._agenda.after(
            moment_us, partial(self._tell_later, "change_ended", "training nodes", told)
        )

    def _tell_later(self, event: str, scope: str, told: dict[str, Any]) -> None:
        self._recorder.event(self._agenda.now_us, event=event, scope=scope, **told)

    def _cap_power(self) -> None:
        """Some nodes that nobody holds are switched off for hours, spares too."""
        free = [
            name
            for pool in (TRAINING, DEVELOPMENT)
            for role in (PLAIN, SPARE)
            for name in self._cluster.free(pool, role)
        ]
        for name in free[: max(1, len(self._cluster.nodes) // 40)]:
            node = self._cluster.nodes[name]
            node.is_capped = True
            self._cluster.changed(node)
            self._agenda.after(3 * HOUR_US, partial(self._uncap, node))

    def _uncap(self, node: Node) -> None:
        node.is_capped = False
        self._cluster.changed(node)
        self._lifecycle.on_queue()
