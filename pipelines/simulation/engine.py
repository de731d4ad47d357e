"""The simulation as a whole: builds the cluster, lets the time pass, writes hour by hour."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np

from metrics.conventions import DAY_US, HOUR_US, MINUTE_US, US_PER_S
from pipelines.simulation.agenda import Agenda
from pipelines.simulation.cluster import Cluster, Node
from pipelines.simulation.contracts import Verdict
from pipelines.simulation.disorder import delivery_of
from pipelines.simulation.hazards import Hazards
from pipelines.simulation.lifecycle import JobRun, Lifecycle
from pipelines.simulation.outcomes import Breach, RestartRow, WaitingRow, WaitRow, WaitTurn
from pipelines.simulation.recording import Recorder
from pipelines.simulation.scenario import Scenario
from pipelines.simulation.scheduling import Scheduler
from pipelines.simulation.sharing import ShareRow
from pipelines.simulation.truth import CapacityTruth, Window
from pipelines.simulation.workload import JobPlan, Workload, guaranteed_gpus
from pipelines.simulation.writing import Folder

SPARE_SHARE = 0.05


@dataclass(frozen=True)
class Report:
    """What a simulation produced."""

    jobs: int
    steps: int
    events: int
    gpus: int
    restarts: int
    breaches: int


class Simulation:
    """One run of a scenario into a folder. Call `run` once."""

    def __init__(self, scenario: Scenario, folder: Folder) -> None:
        self._scenario = scenario
        self._folder = folder
        self._agenda = Agenda(scenario.start_us, scenario.until_us)
        self._recorder = Recorder()
        self._capacity = CapacityTruth()
        self._workload = Workload(scenario)
        self._rng = np.random.default_rng([scenario.seed, 3])
        windows: list[Window] = []
        self._cluster = self._build_cluster()
        self._lifecycle = Lifecycle(scenario, self._agenda, self._cluster, self._recorder, windows)
        self._lifecycle.on_end = self._job_over
        self._scheduler = Scheduler(
            self._agenda, self._cluster, self._lifecycle, self._recorder, scenario.lapses
        )
        self._hazards = Hazards(
            scenario, self._agenda, self._cluster, self._lifecycle, self._recorder, windows
        )
        names = (self._recorder.job_names, self._recorder.node_names)
        self._delivery = delivery_of(scenario, *names)
        self._restarts: list[RestartRow] = []
        self._waits: list[WaitRow] = []
        self._turns: list[WaitTurn] = []
        self._hour_began_us = scenario.start_us

    def _build_cluster(self) -> Cluster:
        sizes, jobs = self._workload.sizes, self._scenario.jobs
        nodes = max(ceil(sum(sizes) / self._scenario.rates.demand), max(sizes) + 1)
        spares = ceil(SPARE_SHARE * nodes)
        return Cluster(
            training_nodes=nodes + spares,
            spares=spares,
            development_nodes=2 + ceil(0.04 * jobs),
            warm=1 + jobs // 50,
            capacity=self._capacity,
            now=lambda: self._agenda.now_us,
            on_state=self._tell_state,
        )

    def run(self, on_progress: Callable[[int, int], None]) -> Report:
        """Simulate everything; `on_progress(µs done, µs in all)` is told every simulated hour."""
        self._cluster.begin()
        self._hazards.begin()
        self._begin_arrivals()
        self._plan_tick(on_progress)
        self._agenda.run()
        self._lifecycle.tick()
        waiting = list(self._scheduler.waiting())
        self._lifecycle.finish()
        self._cluster.finish()
        # The last record of all: it dates the store to the end of the simulated time.
        self._tell_state(next(iter(self._cluster.nodes.values())))
        self._deliver(is_last=True)
        self._write_truth(waiting)
        return Report(
            jobs=len(self._waits),
            steps=self._recorder.steps_recorded,
            events=self._recorder.events_recorded,
            gpus=self._cluster.gpus,
            restarts=len(self._restarts),
            breaches=len(self._lifecycle.account.breaches),
        )

    # Arrivals.

    def _begin_arrivals(self) -> None:
        span_us = self._scenario.until_us - self._scenario.start_us
        for slot in range(self._scenario.jobs):
            delay_us = int(self._rng.uniform(0, min(6 * HOUR_US, span_us // 20)))
            self._agenda.after(delay_us, partial(self._submit_training, slot))
        rates, jobs = self._scenario.rates, self._scenario.jobs
        self._arrive(DAY_US / (rates.sweeps_per_job_day * jobs), self._workload.sweep)
        self._arrive(DAY_US / (rates.interactive_per_job_day * jobs), self._workload.interactive)

    def _submit_training(self, slot: int) -> None:
        self._lifecycle.submit(self._workload.training(slot), slot)

    def _arrive(self, mean_us: float, draw: Callable[[], JobPlan]) -> None:
        """Submit jobs with exponential times between them."""

        def arrive() -> None:
            self._lifecycle.submit(draw())
            self._agenda.after(int(self._rng.exponential(mean_us)), arrive)

        self._agenda.after(int(self._rng.exponential(mean_us)), arrive)

    def _job_over(
        self, run: JobRun, end_us: int, restarts: list[RestartRow], has_ended: bool
    ) -> None:
        self._restarts += restarts
        wait = run.truth.wait(end_us)
        self._waits.append(wait)
        self._turns += run.truth.history(wait.wait_us)
        self._folder.write_ledger(run.plan.name, run.truth.ledger)
        if has_ended and run.slot is not None:
            delay_us = int(self._rng.uniform(1, 90) * MINUTE_US)
            self._agenda.after(delay_us, partial(self._submit_training, run.slot))

    # Hours.

    def _plan_tick(self, on_progress: Callable[[int, int], None]) -> None:
        now = self._agenda.now_us
        self._agenda.at(now - now % HOUR_US + HOUR_US, lambda: self._tick(on_progress))

    def _tick(self, on_progress: Callable[[int, int], None]) -> None:
        now = self._agenda.now_us
        self._lifecycle.tick()
        self._scheduler.look_soon()
        if now < self._scenario.until_us:
            self._deliver(is_last=False)
        start_us = self._scenario.start_us
        on_progress(now - start_us, self._scenario.until_us - start_us)
        self._plan_tick(on_progress)

    def _deliver(self, is_last: bool) -> None:
        events, steps = self._recorder.take()
        delivery = self._delivery.deliver(events, steps, is_last)
        names = (self._recorder.job_names, self._recorder.node_names)
        self._folder.write_hour(self._hour_began_us, delivery, *names)
        self._hour_began_us = self._agenda.now_us

    def _tell_state(self, node: Node) -> None:
        self._recorder.event(
            self._agenda.now_us,
            event="node_state",
            node=node.name,
            gpus=node.gpus,
            state=node.state,
        )

    def _write_truth(self, waiting: list[WaitingRow]) -> None:
        scenario, account = self._scenario, self._lifecycle.account
        guaranteed = guaranteed_gpus(self._cluster.gpus)
        self._folder.write_capacity(self._capacity.gpu_us)
        self._folder.write_truth("restarts", RestartRow, self._restarts)
        self._folder.write_truth("queue", WaitRow, self._waits)
        self._folder.write_truth("waits", WaitTurn, self._turns)
        self._folder.write_truth("waiting", WaitingRow, waiting)
        self._folder.write_truth("breaches", Breach, account.breaches)
        self._folder.write_truth("contracts", Verdict, account.verdicts)
        shares = self._lifecycle.shares.rows(guaranteed, scenario.until_us)
        self._folder.write_truth("shares", ShareRow, shares)
        self._folder.write_scenario(
            {
                "seed": scenario.seed,
                "jobs": scenario.jobs,
                "days": scenario.days,
                "start_us": scenario.start_us,
                "until_us": scenario.until_us,
                "step_s": scenario.step_us / US_PER_S,
                "bad_week": scenario.bad_week,
                "disorder": str(scenario.disorder),
                "installed_gpus": self._cluster.gpus,
                "guaranteed_gpus": guaranteed,
            }
        )


def simulate(
    scenario: Scenario,
    out: Path,
    on_progress: Callable[[int, int], None] = lambda done_us, total_us: None,
) -> Report:
    """Simulate a scenario into a directory: `events/` and `truth/`."""
    with Folder(out) as folder:
        return Simulation(scenario, folder).run(on_progress)
