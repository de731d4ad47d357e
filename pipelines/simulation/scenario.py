"""What is simulated: the options of a run, and the rates of the field they stand on."""

from dataclasses import dataclass, field
from enum import StrEnum

from metrics.conventions import DAY_US, HOUR_US, MINUTE_US, US_PER_S


class Disorder(StrEnum):
    """What happens to records between their writer and the files."""

    NONE = "none"
    DELIVERY = "delivery"
    """Records come late, twice, shuffled or with a torn copy; the truth stays the truth."""
    SKEW = "skew"
    """Delivery, and some jobs' processes have a clock that is off: their numbers shift by it."""
    LOSS = "loss"
    """Delivery, and some records never arrive: what they told is missing from the numbers."""


@dataclass(frozen=True)
class Rates:
    """How much is wanted, how often things go wrong, and how long they take."""

    demand: float = 1.01
    """Nodes that training jobs want at any time, for each that there is."""
    node_mtbf_us: int = 80 * DAY_US
    """Mean time between failures of one node (exponential)."""
    repair_mean_us: int = 5 * HOUR_US
    """Mean time to repair a node (exponential, plus the minimum below)."""
    repair_min_us: int = 20 * MINUTE_US
    software_mtbf_us: int = 8 * DAY_US
    """Mean time between failures of one running job that no node caused."""
    straggler_mean_us: int = 60 * DAY_US
    """Mean time of one node until it becomes slow."""
    storage_mean_us: int = 6 * DAY_US
    """Mean time between failures of the shared storage."""
    bad_week_nodes: int = 26
    bad_week_storage: int = 24
    """By how much a bad week multiplies the rates of node and storage failures."""
    sweeps_per_job_day: float = 1.0
    """Short jobs (sweeps, evaluations) that arrive a day, for each training job."""
    interactive_per_job_day: float = 0.5


@dataclass(frozen=True)
class Lapses:
    """Shares of the occasions on which the platform breaks a contract that it keeps by itself."""

    partial_gangs: float = 0.0
    """A gang starts without one of its nodes."""
    late_data: float = 0.0
    """A process starts before its data is there."""
    ignored_tiers: float = 0.0
    """A job is preempted that is not of a lower tier."""
    lost_requeues: float = 0.0
    """A preempted job is given up instead of requeued."""
    open_loans: float = 0.0
    """Reserved GPUs are lent to a job that is not preemptible."""
    late_returns: float = 0.0
    """A loan that is called back leaves long after its grace window."""


@dataclass(frozen=True)
class Scenario:
    """One run of the simulator. Equal scenarios give equal bytes."""

    seed: int
    jobs: int
    """Training jobs that want to run at any time; short ones come on top."""
    days: int
    until_us: int
    """The moment at which the simulated time ends."""
    step_us: int = 30 * US_PER_S
    """Typical length of a step."""
    bad_week: int | None = None
    """The week (from 1) in which nodes and storage fail often."""
    disorder: Disorder = Disorder.NONE
    rates: Rates = field(default_factory=Rates)
    lapses: Lapses = field(default_factory=Lapses)

    @property
    def start_us(self) -> int:
        """The moment at which the simulated time begins."""
        return self.until_us - self.days * DAY_US

    def is_bad(self, moment_us: int) -> bool:
        """Whether the moment lies in the bad week."""
        if self.bad_week is None:
            return False
        return (moment_us - self.start_us) // (7 * DAY_US) == self.bad_week - 1
