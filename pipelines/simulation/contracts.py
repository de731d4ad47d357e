"""Whether the platform kept its contracts with a job, each time that it could have broken one.

Judged from what the simulator knows at that moment, apart from the job's life because it changes
nothing of it. All times are integer microseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from metrics.conventions import MINUTE_US
from pipelines.simulation.outcomes import Breach, RestartRow
from pipelines.simulation.workload import JobPlan

GRACE_US = 3 * MINUTE_US
"""So long from the signal of a preemption to the reclaim, unless the job is done."""
LEAVE_SLACK_US = MINUTE_US
"""So long after its grace window a loan that was called back has still left on time."""


@dataclass(frozen=True)
class Verdict:
    """One occasion of a contract."""

    contract: str
    job: str
    at_us: int
    kept: bool | None
    """None where it is not decided at the end, or where no record can tell."""


@dataclass
class Account:
    """What all jobs' contracts came to."""

    verdicts: list[Verdict] = field(default_factory=list)
    breaches: list[Breach] = field(default_factory=list)


@dataclass
class _Loan:
    started_us: int
    for_job: str
    recalled_us: int | None = None


@dataclass
class _Preemption:
    signalled_us: int | None
    saved_us: int | None = None
    """The first checkpoint completed since."""

    def is_after(self, at_us: int) -> bool:
        """Whether a moment comes after the signal."""
        return self.signalled_us is not None and at_us > self.signalled_us

    def has_saved_by(self, at_us: int) -> bool:
        """Whether a checkpoint was completed since, and by a moment."""
        return self.saved_us is not None and self.saved_us <= at_us


class JobContracts:
    """The contracts with one job."""

    def __init__(self, plan: JobPlan, account: Account) -> None:
        self._plan = plan
        self._account = account
        self._attempt = -1
        self._saved_us: int | None = None
        """The last checkpoint completed of the attempt at work."""
        self._gaps_us: list[int] = []
        """Times between completed checkpoints within attempts."""
        self._unstaged_us: int | None = None
        """When the process started without its data."""
        self._loan: _Loan | None = None
        self._preemption: _Preemption | None = None
        self._unsaved: list[tuple[int, int | None]] = []
        """(reclaimed_us, last step) of reclaims of which nobody knows yet what they cost."""
        self._has_stepped = False

    def judge(self, contract: str, at_us: int, kept: bool | None) -> None:
        """Note one occasion of a contract."""
        self._account.verdicts.append(Verdict(contract, self._plan.name, at_us, kept))

    def allocated(self, at_us: int, gpus: int, attempt: int) -> None:
        """A gang got GPUs: an attempt begins."""
        self._attempt, self._preemption = attempt, None
        self._saved_us = None
        if self._plan.gpus > 1:
            self.judge("gang_start", at_us, gpus >= self._plan.gpus)

    def process_started(self, at_us: int, is_staged: bool) -> None:
        """The process runs, with or without its data."""
        if is_staged:
            self.judge("staged_data", at_us, True)
        else:
            self._unstaged_us = at_us

    def staged(self) -> None:
        """The data lies on the nodes."""
        self._settle_staging(False)

    def resumed(self, step: int) -> None:
        """An attempt completed its first step, having resumed from this one."""
        for reclaimed_us, last_step in self._unsaved:
            kept = last_step is None or last_step <= step
            self.judge("preemption_checkpoint", reclaimed_us, kept)
        self._unsaved, self._has_stepped = [], True

    def saved(self, at_us: int) -> None:
        """A checkpoint of the attempt at work was completed."""
        if self._saved_us is not None:
            self._gaps_us.append(at_us - self._saved_us)
        self._saved_us = at_us
        preemption = self._preemption
        if preemption is not None and preemption.saved_us is None and preemption.is_after(at_us):
            preemption.saved_us = at_us

    # Loans and preemption.

    def lent(self, at_us: int, for_job: str) -> None:
        """It runs on GPUs that are reserved for another."""
        self._loan = _Loan(at_us, for_job)

    def returned(self, at_us: int) -> None:
        """It left what was lent to it, if anything was."""
        self._settle_loan(at_us, True)

    def _settle_loan(self, at_us: int, has_left: bool) -> None:
        if self._loan is not None:
            recalled_us = self._loan.recalled_us
            is_late = recalled_us is not None and at_us > recalled_us + GRACE_US + LEAVE_SLACK_US
            is_open = self._plan.tier != "batch"
            kept = False if is_open or is_late else True if has_left else None
            self.judge("backfill_loan", self._loan.started_us, kept)
        self._loan = None

    def preempted(self, at_us: int, by: JobPlan, is_signalled: bool) -> None:
        """Its GPUs are wanted for another job."""
        self._preemption = _Preemption(at_us if is_signalled else None)
        if not is_signalled:
            return
        is_recall = self._loan is not None and self._loan.for_job == by.name
        if self._loan is not None and is_recall:
            self._loan.recalled_us = at_us
        self.judge("tier_preemption", at_us, is_recall or by.rank > self._plan.rank)

    def reclaimed(self, at_us: int, last_step: int | None, is_requeued: bool) -> None:
        """A preempted job lost its GPUs, having come to a step in this attempt, or to none."""
        preemption = self._preemption
        if preemption is None:
            raise ValueError(f"{self._plan.name}: reclaimed without a preemption")
        self.judge("preemption_signal", at_us, preemption.signalled_us is not None)
        self.judge("preemption_requeue", at_us, is_requeued)
        if preemption.signalled_us is None:
            self._breach("no_signal", at_us, 0)
            return
        given_us = at_us - preemption.signalled_us
        has_saved = preemption.has_saved_by(at_us)
        self.judge("preemption_grace", at_us, given_us >= GRACE_US or has_saved)
        if given_us < GRACE_US and not has_saved:
            self._breach("short_grace", at_us, given_us)
        is_saved = preemption.has_saved_by(preemption.signalled_us + GRACE_US)
        is_cut = given_us < GRACE_US and last_step is not None
        if is_saved or is_cut or not self._plan.instrumented:
            self.judge("preemption_checkpoint", at_us, True if is_saved else None)
        else:
            self._unsaved.append((at_us, last_step))

    def _breach(self, kind: str, at_us: int, given_us: int) -> None:
        self._account.breaches.append(
            Breach(self._plan.name, self._attempt, kind, at_us, GRACE_US, given_us)
        )

    # What is only known later.

    def stopped(self) -> None:
        """The attempt at work is over."""
        self._settle_staging(None)

    def finish(self, at_us: int, restarts: Iterable[RestartRow], lost_us: dict[int, int]) -> None:
        """The job is over, or time is; `lost_us` is what restarts had done again, by detection."""
        self.stopped()
        self._settle_loan(at_us, False)
        for reclaimed_us, last_step in self._unsaved:
            kept = True if last_step is None and self._has_stepped else None
            self.judge("preemption_checkpoint", reclaimed_us, kept)
        for row in restarts:
            if row.cause != "maintenance":
                name = "preemption_loss" if row.cause == "preemption" else "failure_loss"
                self.judge(name, row.detected_us, self._is_bearable(row, lost_us))

    def _is_bearable(self, row: RestartRow, lost_us: dict[int, int]) -> bool | None:
        if row.basis != "first_step":
            return None
        interval_us = self._interval_us()
        lost = lost_us[row.detected_us]
        if lost and interval_us is None:
            return None
        return lost == 0 or (interval_us is not None and lost <= interval_us)

    def _interval_us(self) -> int | None:
        """The checkpoint interval in force: as its submission has it, or as it came to be."""
        plan = self._plan
        if plan.names_interval and plan.checkpoint_every_steps:
            return plan.checkpoint_every_steps * plan.step_us
        gaps = sorted(self._gaps_us)
        return gaps[(len(gaps) - 1) // 2] if gaps else None

    def _settle_staging(self, kept: bool | None) -> None:
        if self._unstaged_us is not None:
            self.judge("staged_data", self._unstaged_us, kept)
        self._unstaged_us = None
