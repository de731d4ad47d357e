"""Which jobs there are: training of all sizes, sweeps, evaluations and interactive sessions."""

from dataclasses import dataclass

import numpy as np

from metrics.conventions import DAY_US, HOUR_US, MINUTE_US, US_PER_S
from pipelines.simulation.scenario import Scenario

TENANT_SHARES = {"foundation": 0.45, "applied": 0.30, "science": 0.15, "platform": 0.10}
"""Guaranteed share of the GPUs of each tenant."""


def guaranteed_gpus(installed: int) -> dict[str, int]:
    """Whole GPUs that each tenant is guaranteed of so many."""
    return {tenant: int(share * installed) for tenant, share in TENANT_SHARES.items()}


RANK = {"interactive": 3, "standard": 2, "batch": 1}
TRAINING, DEVELOPMENT = "training", "development"
"""The two pools of nodes: 8 GPUs a node, and 2."""
GPUS_PER_NODE = {TRAINING: 8, DEVELOPMENT: 2}
LARGE_SIZES = (8, 16, 32, 64, 128)
"""Nodes of large training jobs: 64 to 1024 GPUs."""
LARGE_WEIGHTS = (0.45, 0.27, 0.16, 0.09, 0.03)
SMALL_SIZES = (1, 2, 4)
LARGE_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What the kind of a job decides. Lengths in microseconds, steps from 1; 0 for never."""

    title: str
    tier: str
    nodes: int
    instrumented: bool
    steps: int
    step_us: int
    is_uneven: bool = False
    """Its steps differ by nature, as in reinforcement learning."""
    checkpoint_every_steps: int = 0
    suspend_step: int = 0
    vanish_step: int = 0
    """The step after which nobody hears of it any more."""
    error_step: int = 0
    rollback_step: int = 0
    cancel_us: int = 0
    """After how long its owner cancels it."""


@dataclass(frozen=True, kw_only=True)
class JobPlan(Kind):
    """What a job will do if nothing disturbs it."""

    name: str
    tenant: str
    user: str
    pool: str
    tells_process: bool
    """Whether anybody records that its process started; else only its allocation is known."""
    expected_step_us: int | None
    expected_duration_us: int | None
    stamps_in_ms: bool
    """It reports durations cut to milliseconds."""
    names_interval: bool
    save_us: int
    saves_block: bool
    checkpoint_bytes: int
    evaluate_every_steps: int
    evaluation_us: int
    suspend_us: int
    parks: bool
    """Whether it gives its nodes back while it is suspended."""
    error_is_final: bool
    hold_reason: str | None
    hold_us: int

    @property
    def gpus(self) -> int:
        """All its GPUs."""
        return self.nodes * GPUS_PER_NODE[self.pool]

    @property
    def rank(self) -> int:
        """Higher goes first."""
        return RANK[self.tier]

    @property
    def run_us(self) -> int:
        """How long its steps take by themselves."""
        return self.steps * self.step_us


class Workload:
    """Draws jobs. Names are numbered in the order of drawing."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._rng = np.random.default_rng([scenario.seed, 1])
        self._count = 0
        self.sizes = self._slot_sizes(scenario.jobs)

    def _slot_sizes(self, jobs: int) -> list[int]:
        """Nodes of each training job that wants to run at any time, small ones first."""
        large = max(1, round(LARGE_SHARE * jobs))
        sizes = [int(n) for n in self._rng.choice(SMALL_SIZES, jobs - large)]
        biggest = 3 if jobs < 40 else len(LARGE_SIZES)
        weights = np.array(LARGE_WEIGHTS[:biggest]) / sum(LARGE_WEIGHTS[:biggest])
        return sizes + [int(n) for n in self._rng.choice(LARGE_SIZES[:biggest], large, p=weights)]

    def training(self, slot: int) -> JobPlan:
        """The next training job of a slot: days to months, of the slot's size."""
        rng = self._rng
        nodes = self.sizes[slot]
        is_large = nodes >= LARGE_SIZES[0]
        days = rng.lognormal(np.log(18 if is_large else 4), 0.8)
        step_us = int(self._scenario.step_us * rng.uniform(0.6, 1.15))
        interval_us = int(rng.uniform(0.7, 3.0) * HOUR_US)
        steps = max(60, int(min(days, 90) * DAY_US / step_us))
        every = max(10, interval_us // step_us)
        is_uneven = not is_large and rng.random() < 0.15
        tier = "standard" if rng.random() < (0.85 if is_large else 0.5) else "batch"
        kind = Kind(
            title="pretrain" if is_large else "rl" if is_uneven else "finetune",
            tier=tier,
            nodes=nodes,
            instrumented=bool(is_large or rng.random() > 0.1),
            steps=steps,
            step_us=step_us,
            is_uneven=is_uneven,
            checkpoint_every_steps=every,
            suspend_step=_within(rng, steps, 0.2 if not is_large else 0.08, every),
            vanish_step=0 if is_large else _within(rng, steps, 0.1, every),
            error_step=_within(rng, steps, 0.25, every),
            rollback_step=_within(rng, steps, 0.15 if is_large else 0.04, every),
            cancel_us=int(rng.uniform(0.1, 1.0) * steps * step_us) if rng.random() < 0.06 else 0,
        )
        return self._plan(kind)

    def sweep(self) -> JobPlan:
        """A short job: a trial of a sweep, or an evaluation without step records."""
        rng = self._rng
        is_trial = bool(rng.random() < 0.7)
        step_us = max(US_PER_S // 4, int(min(self._scenario.step_us, 30 * US_PER_S) * 0.4))
        steps = int(rng.uniform(4, 45) * MINUTE_US / step_us)
        kind = Kind(
            title="sweep" if is_trial else "evaluation",
            tier="batch" if rng.random() < 0.7 else "standard",
            nodes=1,
            instrumented=is_trial,
            steps=max(steps, 5),
            step_us=step_us,
            error_step=int(rng.integers(2, max(steps, 5))) if rng.random() < 0.05 else 0,
        )
        return self._plan(kind)

    def interactive(self) -> JobPlan:
        """A session of a person, on one small node."""
        rng = self._rng
        step_us = max(US_PER_S // 2, int(min(self._scenario.step_us, 60 * US_PER_S) * 0.6))
        steps = int(rng.lognormal(np.log(50), 0.7) * MINUTE_US / step_us)
        kind = Kind(
            title="notebook",
            tier="interactive",
            nodes=1,
            instrumented=bool(rng.random() < 0.4),
            steps=max(steps, 5),
            step_us=step_us,
            cancel_us=int(rng.uniform(0.2, 1.5) * steps * step_us) if rng.random() < 0.4 else 0,
        )
        return self._plan(kind)

    def _plan(self, kind: Kind) -> JobPlan:
        """A job of its kind, with all that is drawn alike for every kind, always in this order."""
        rng = self._rng
        self._count += 1
        every = kind.checkpoint_every_steps
        tenant = str(rng.choice(list(TENANT_SHARES), p=list(TENANT_SHARES.values())))
        held = rng.random() < 0.06
        evaluates = every > 0 and kind.instrumented and rng.random() < 0.6
        expected_us = int(kind.steps * kind.step_us * 1.2)
        return JobPlan(
            **vars(kind),
            name=f"{kind.title}-{self._count:05d}",
            tenant=tenant,
            user=f"{tenant}-{int(rng.integers(1, 8))}",
            pool=TRAINING if every else DEVELOPMENT,
            tells_process=bool(kind.instrumented or rng.random() < 0.8),
            expected_step_us=kind.step_us if rng.random() < 0.4 else None,
            expected_duration_us=expected_us if rng.random() < 0.9 else None,
            stamps_in_ms=bool(rng.random() < 0.3),
            names_interval=bool(rng.random() < 0.7),
            save_us=int(rng.uniform(20, 120) * US_PER_S),
            saves_block=bool(rng.random() < 0.5),
            checkpoint_bytes=kind.nodes * int(rng.integers(2, 40)) * 2**30,
            evaluate_every_steps=every * int(rng.integers(2, 6)) if evaluates else 0,
            evaluation_us=int(rng.uniform(2, 15) * MINUTE_US),
            suspend_us=int(rng.uniform(0.5, 9) * HOUR_US),
            parks=bool(rng.random() < 0.5),
            error_is_final=bool(rng.random() < 0.4),
            hold_reason=str(rng.choice(["user_hold", "dependency"])) if held else None,
            hold_us=int(rng.uniform(5, 180) * MINUTE_US) if held else 0,
        )


def _within(rng: np.random.Generator, steps: int, chance: float, every: int) -> int:
    """A step in the first days of a job at which something happens, or 0 for never."""
    last = min(steps - 1, 60 * every)
    if rng.random() >= chance or last <= 3:
        return 0
    return int(rng.integers(3, last))
