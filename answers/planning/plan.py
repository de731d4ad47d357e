"""The plan of a job's checkpoints: which numbers enter it, given or measured, and what follows.

The mathematics is in `metrics.checkpointing`, what is answered in `answers.planning.answer`.
Times are seconds as floats: these are estimates.
"""

from dataclasses import dataclass, fields

from answers.planning.measured import Failures, Measured
from answers.wording import plural, span, whole
from metrics.checkpointing import Costs, Saving, Shared
from metrics.errors import UsageError
from metrics.policy import Policy

LEAST, MOST = 1e-6, 1e15
"""Between these lies every number that somebody may give."""


@dataclass(frozen=True)
class Given:
    """What somebody says: it wins over what was measured. Seconds, bytes, bytes a second, hours.

    Raises UsageError for what can be no such number, naming the option.
    """

    save_s: float | None = None
    mtbf_s: float | None = None
    restart_s: float | None = None
    step_s: float | None = None
    writers: int = 1
    blocking_fraction: float | None = None
    size: float | None = None
    bandwidth: float | None = None
    jobs: int = 1
    price: float | None = None
    spot_price: float | None = None
    spot_mtbf_s: float | None = None
    warning_s: float | None = None
    gpus: int | None = None
    useful_h: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            is_zero = value == 0 and field.name == "restart_s"
            if value is not None and not (LEAST <= value <= MOST or is_zero):
                between = f"between {LEAST:g} and {MOST:g}"
                raise UsageError(f"{OPTIONS[field.name]} {value}: say a number above 0, {between}")
        if (self.blocking_fraction or 0) > 1:
            raise UsageError(f"--blocking-fraction {self.blocking_fraction}: say a share up to 1")
        if self.spot_price is not None and self.spot_mtbf_s is None:
            raise UsageError(
                "--spot-price: say --spot-mtbf-minutes too, how often spot is preempted"
            )
        if self.useful_h is not None and self.price is None and self.spot_price is None:
            raise UsageError("--useful-hours: say --price or --spot-price too")


OPTIONS = {
    "save_s": "--save-seconds",
    "mtbf_s": "--mtbf-hours",
    "restart_s": "--restart-minutes",
    "step_s": "--step-seconds",
    "writers": "--writers",
    "blocking_fraction": "--blocking-fraction",
    "size": "--bytes",
    "bandwidth": "--bandwidth",
    "jobs": "--jobs",
    "price": "--price",
    "spot_price": "--spot-price",
    "spot_mtbf_s": "--spot-mtbf-minutes",
    "warning_s": "--warning-seconds",
    "gpus": "--gpus",
    "useful_h": "--useful-hours",
}


@dataclass(frozen=True)
class Inputs:
    """The numbers of a plan, and in words where each is from."""

    saving: Saving
    costs: Costs
    step_s: float | None
    gpus: int | None
    sources: tuple[str, ...]


def inputs(given: Given, found: Measured | None, policy: Policy) -> Inputs:
    """What was given, else what was measured. Raises UsageError that says what to give."""
    saving, save_source = _saving(given, found)
    mtbf_s, mtbf_source = _mtbf(given, found, policy)
    restart_s, restart_source = _restart(given, found)
    missing = [
        text
        for text, value in (
            ("--save-seconds (what a save takes)", saving),
            ("--mtbf-hours (the mean time between failures)", mtbf_s),
            ("--restart-minutes (from a failure to the next step)", restart_s),
        )
        if value is None
    ]
    if missing or saving is None or mtbf_s is None or restart_s is None:
        whose = f"job {found.job}'s records do not tell; " if found else "give --job, or "
        raise UsageError(f"{whose}say {', '.join(missing)}")
    step_s = given.step_s or (found.step_s if found else None)
    return Inputs(
        saving,
        Costs(saving.blocks_s, mtbf_s, restart_s),
        step_s,
        given.gpus or (found.gpus if found else None),
        (save_source, mtbf_source, restart_source),
    )


def _saving(given: Given, found: Measured | None) -> tuple[Saving | None, str]:
    held = given.size or (found.size if found else None)
    if given.bandwidth is not None and held is None:
        raise UsageError("--bandwidth: say --bytes too, the size of a checkpoint")
    if given.save_s is not None:
        said = f"a save takes one writer {span(given.save_s)}: given"
        fraction = given.blocking_fraction or 1.0
        return Saving(given.save_s, given.writers, fraction, held, given.bandwidth), said
    if found is None or not found.blocks_s:
        return None, ""
    whole_s = max(found.write_s or 0.0, found.blocks_s)
    fraction = given.blocking_fraction or found.blocks_s / whole_s
    said = (
        f"a save takes {span(whole_s)} and blocks the loop for {span(found.blocks_s)}:"
        f" measured, over {plural(found.saves, 'save')}"
    )
    return Saving(whole_s, given.writers, fraction, held, given.bandwidth), said


def _mtbf(given: Given, found: Measured | None, policy: Policy) -> tuple[float | None, str]:
    if given.mtbf_s is not None:
        return given.mtbf_s, f"a failure every {span(given.mtbf_s)}: given"
    failures = found.failures if found else None
    if failures is None or not failures.restarts:
        return None, ""
    between_s = failures.between_s
    confidence = whole(float(policy.planning.confidence))
    return between_s.mean, (
        f"a failure every {span(between_s.mean)} ({confidence} interval {span(between_s.low)} to"
        f" {span(between_s.high)}): {_known_from(failures, policy)}"
    )


def _known_from(failures: Failures, policy: Policy) -> str:
    least = policy.planning.least_interruptions
    counted = plural(failures.restarts, "restart")
    if failures.of == "fleet":
        return (
            f"measured, {counted} of the fleet's large jobs a GPU-hour, scaled by its GPUs; of its"
            f" own there are fewer than {least}"
        )
    few = f", fewer than {least}: little to go by" if failures.restarts < least else ""
    return f"measured, {counted} of its own, of every cause{few}"


def _restart(given: Given, found: Measured | None) -> tuple[float | None, str]:
    if given.restart_s is not None:
        return given.restart_s, f"a restart takes {span(given.restart_s)}: given"
    if found is None or found.restart_s is None:
        return None, ""
    said = f"a restart takes {span(found.restart_s)}: measured, the mean of {found.restart_of}"
    return found.restart_s, said


@dataclass(frozen=True)
class Plan:
    """A plan, made of inputs under a policy."""

    given: Given
    found: Measured | None
    policy: Policy
    numbers: Inputs

    @classmethod
    def of(cls, given: Given, found: Measured | None, policy: Policy) -> "Plan":
        """The plan that given and measured numbers make. Raises UsageError as `inputs`."""
        return cls(given, found, policy, inputs(given, found, policy))

    @property
    def points(self) -> float:
        """How much more than the best interval another may cost and be as good."""
        return float(self.policy.planning.flat_points)

    @property
    def target(self) -> float | None:
        """The goodput that the policy promises; None where it promises none."""
        slos = [s for s in self.policy.objectives if s.sources[0].spec["measure"] == "goodput"]
        return float(slos[0].spec.objectives[0].share) if slos else None

    @property
    def floor_s(self) -> float:
        """The shortest interval that writing in the background and the file system allow."""
        saving = self.numbers.saving
        least_s = saving.write_s if saving.blocking_fraction < 1 else 0.0
        if saving.alone_s is not None:
            least_s = max(least_s, self.given.jobs * saving.alone_s)
        return least_s

    @property
    def interval_s(self) -> float:
        """The advised interval: T*, or the shortest one allowed where that is longer."""
        return self.interval_of(self.numbers.costs)

    def interval_of(self, costs: Costs) -> float:
        """The same for other costs."""
        return max(costs.best_interval_s, self.floor_s)

    @property
    def shared(self) -> Shared:
        """The jobs that save like this one on its file system."""
        saving = self.numbers.saving
        alone_s = saving.write_s if saving.alone_s is None else saving.alone_s
        return Shared(self.given.jobs, self.interval_s, saving.write_s, alone_s)

    @property
    def spot(self) -> Costs | None:
        """The costs on spot capacity; None where nothing was said of it."""
        costs, spot_s = self.numbers.costs, self.given.spot_mtbf_s
        return None if spot_s is None else Costs(costs.save_s, spot_s, costs.restart_s)

    @property
    def flat_s(self) -> tuple[float, float]:
        """The intervals as good as the best one, as far as they are allowed."""
        low_s, high_s = self.numbers.costs.flat_region_s(self.points)
        return max(low_s, self.floor_s), max(high_s, self.floor_s)
