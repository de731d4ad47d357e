"""The gate's decision: may a change start now? With its reasons, for a tired person to read."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from answers.budgets import Moment, Report, check_scope
from answers.clock import now_us
from answers.durability import durability
from answers.facts import Facts
from answers.freezes import Course, course, gating, spenders
from answers.home import Home
from answers.journal import Journal
from answers.moments import rfc3339
from answers.wording import hours
from metrics.budget import Amount, Budget, State, Unit
from metrics.conventions import HOUR_US, US_PER_S
from metrics.documents import closest
from metrics.errors import HeadwayError, PolicyError, UsageError
from metrics.freeze import Reading, Standing
from metrics.policy import Policy
from metrics.rulings import WRITER, Kind, Ruling, Rulings
from metrics.scope import Scope

EXIT_CODES = {"allow": 0, "deny": 1, "unknown": 3}
"""What a command that asks the gate ends with; 2 is a wrong question."""


@dataclass(frozen=True)
class Question:
    """A change of a scope at a moment in µs."""

    change: str
    scope: Scope
    as_of_us: int


def check_change(policy: Policy, change: str) -> None:
    """Raise UsageError for a type of change that the policy does not know."""
    known = policy.changes.known
    if change not in known:
        raise UsageError(
            f"--change {change}: no such type of change{closest(change, known)};"
            f" the policy knows {', '.join(known)}"
        )


def check_until(policy: Policy, until_us: int, at_us: int) -> None:
    """Raise UsageError where an override from `at_us` on would last longer than it may, in µs."""
    if until_us <= at_us:
        raise UsageError(f"--until {rfc3339(until_us)}: has passed; say a moment still to come")
    longest_us = policy.decisions.longest_override_us
    if until_us - at_us > longest_us:
        raise UsageError(
            f"--until {rfc3339(until_us)}: the policy lets it last"
            f" {longest_us // HOUR_US} h at most, that is until"
            f" {rfc3339((at_us + longest_us) // US_PER_S * US_PER_S)}"
        )


def decide(facts: Facts, rulings: Rulings, question: Question) -> dict[str, Any]:
    """The gate's answer, as its JSON has it. Raises UsageError for a wrong question."""
    check_change(facts.policy, question.change)
    check_scope(facts, question.scope)
    return _Decision(facts, rulings, question).as_json()


def note_refusal(journal: Journal, question: Question, answer: dict[str, Any]) -> None:
    """Note in the journal that a change was held just now, once an hour however often it is asked.

    Where the journal cannot be written the answer stands, and warns of it.
    """
    if answer["decision"] != "deny":
        return
    body = {"change": question.change}
    try:
        last = journal.latest(Kind.REFUSAL, question.scope, body)
        if last is None or last.at_us // HOUR_US < now_us() // HOUR_US:
            journal.append(Kind.REFUSAL, WRITER, answer["explanation"], question.scope, body)
    except HeadwayError as e:
        answer["warnings"].append(f"that it was held could not be noted: {e}")


@dataclass(frozen=True)
class Permit:
    """Whether a type of change may start: allow, deny or unknown, by whose override if by one."""

    change: str
    decision: str
    passes_always: bool
    override: Ruling | None


def permits(
    facts: Facts, rulings: Rulings, scope: Scope, as_of_us: int
) -> tuple[list[Permit], dict[str, Any]]:
    """A permit for every type of change, and the whole answer for the first that is held."""
    check_scope(facts, scope)
    changes = facts.policy.changes
    asked = _Decision(facts, rulings, Question(changes.known[0], scope, as_of_us))
    answer = asked.as_json()
    found = []
    for change in changes.known:
        asked.question = Question(change, scope, as_of_us)
        asked.override = rulings.override(change, scope, as_of_us)
        found.append(Permit(change, asked.decision(), change in changes.passing, asked.override))
    return found, answer


def unreadable(home: Home, question: Question, fault: Exception) -> dict[str, Any]:
    """The answer where a fault kept numbers, journal or policy from being read.

    Raises UsageError for a wrong question: that is whose fault it is then.
    """
    if isinstance(fault, UsageError) and not isinstance(fault, PolicyError):
        raise fault
    with suppress(PolicyError, OSError):
        check_change(home.policy(), question.change)
    return unknown(question, str(fault))


def unknown(question: Question, why: str) -> dict[str, Any]:
    """The answer where nothing can be read at all."""
    return {
        "decision": "unknown",
        "change": question.change,
        "scope": str(question.scope),
        "as_of": rfc3339(question.as_of_us),
        "data_through": None,
        "coverage": None,
        "blocking": [],
        "warnings": [why],
        "override": None,
        "explanation": f"Unknown: there are no numbers to decide on. {_sentence(why)}",
    }


class _Decision:
    def __init__(self, facts: Facts, rulings: Rulings, question: Question) -> None:
        self.facts, self.rulings, self.question = facts, rulings, question
        self.course: Course = course(facts, question.scope, question.as_of_us)
        scope, at_us = question.scope, question.as_of_us
        self.override = rulings.override(question.change, scope, at_us)
        self.frozen_by_hand = rulings.frozen_by_hand(scope, at_us)
        self.opened_by_hand = rulings.opened_by_hand(scope, at_us)
        # The state is the one after the last closed hour: so are the numbers behind it.
        closed_us = at_us // HOUR_US * HOUR_US
        self.moment = Moment.of(facts, closed_us)
        self.asked = Moment.of(facts, at_us)
        series = gating(facts, scope, closed_us)
        self.reports = [Report(facts, self.moment, found) for found in series]

    @property
    def standing(self) -> Standing:
        """The state after the last closed hour, unless the data are too old at the moment asked."""
        return Standing.UNKNOWN if self.asked.stale else self.course.last.standing

    def decision(self) -> str:
        """allow, deny or unknown: passing changes, overrides and hands first, then the state."""
        if self.question.change in self.facts.policy.changes.passing or self.override:
            return "allow"
        if self.frozen_by_hand:
            return "deny"
        if self.opened_by_hand:
            return "allow"
        return {"open": "allow", "frozen": "deny", "unknown": "unknown"}[self.standing.value]

    def as_json(self) -> dict[str, Any]:
        """The answer."""
        question, override = self.question, self.override
        start_us, end_us = self.asked.start_us, self.asked.end_us
        return {
            "decision": self.decision(),
            "change": question.change,
            "scope": str(question.scope),
            "as_of": rfc3339(question.as_of_us),
            "data_through": rfc3339(self.asked.data_through_us),
            "coverage": self.facts.coverage(question.scope, start_us, end_us).share,
            "blocking": [self._blocking(report) for report in self.blocking()],
            "warnings": self.warnings(),
            "override": _shown(override) if override else None,
            "explanation": self.explanation(),
        }

    def blocking(self) -> list[Report]:
        """The budgets that hold the scope."""
        hour = self.course.last_hour
        if self.standing is not Standing.FROZEN or hour is None:
            return []
        held = {(r.slo, r.scope) for r in hour.readings if r.keeps_frozen}
        return [r for r in self.reports if (r.series.slo, str(r.series.scope)) in held]

    def _blocking(self, report: Report) -> dict[str, Any]:
        return {
            "slo": report.series.slo,
            "scope": str(report.series.scope),
            "unit": report.series.unit.value,
            "bad": report.budget.amount.bad,
            "allowed": report.budget.allowed,
            "remaining": report.budget.remaining,
            "spenders": spenders(report),
            "thaw_at": rfc3339(report.thaw.at_us) if report.thaw else None,
        }

    def warnings(self) -> list[str]:
        """What does not decide, and should be known by whoever does."""
        hour = self.course.last_hour
        readings = hour.readings if hour else ()
        found = [warning for reading in readings if (warning := _warning(reading))]
        found += [warning for report in self.blocking() if (warning := _unattributed(report))]
        if self.facts.policy.promises and (unproven := self._unproven()):
            found.append(unproven)
        adjustments = self.facts.adjustments
        count = len(adjustments.exclusions) + len(adjustments.reattributions)
        if count:
            found.append(f"{count} adjustments are in force (`headway journal`)")
        return found

    def _unproven(self) -> str | None:
        found = durability(self.facts, self.question.scope, self.moment.as_of_us)
        if not found.unproven:
            return None
        named = ", ".join(run.job for run in found.unproven[:3])
        return (
            f"checkpoint durability is unproven for {len(found.unproven)} of {len(found.runs)}"
            f" large runs ({named}{', …' if len(found.unproven) > 3 else ''}): nothing in these 30"
            " days proves that their checkpoints restore"
        )

    def explanation(self) -> str:
        """Two sentences: what is decided and why, and what happens next."""
        change, scope = self.question.change, str(self.question.scope)
        if change in self.facts.policy.changes.passing:
            return self._passing()
        if self.override:
            until = rfc3339(self.override.until_us)
            return (
                f"Allowed by an override of {self.override.who}, until {until}:"
                f" {_sentence(self.override.why)} Without it the answer would be"
                f" {self._without_override()}."
            )
        if self.frozen_by_hand:
            hand = self.frozen_by_hand
            until = f" until {rfc3339(hand.until_us)}" if hand.until_us else ""
            return (
                f"Denied: {hand.who} froze {hand.scope} by hand{until}: {_sentence(hand.why)}"
                f" `headway thaw --scope {hand.scope}` lifts it."
            )
        if self.opened_by_hand:
            hand = self.opened_by_hand
            return (
                f"Allowed: {hand.who} opened {hand.scope} by hand: {_sentence(hand.why)}"
                f" That ends at {rfc3339(hand.until_us)}."
            )
        if self.standing is Standing.UNKNOWN:
            return self._unknown()
        if self.standing is Standing.FROZEN:
            return self._denied()
        if not self.facts.policy.gating:
            return (
                "Allowed: by the policy (gating: []) no objective holds rollouts. None is judged."
            )
        return (
            f"Allowed: no gating budget of {scope} is spent."
            f" {self._least_left() or 'There is too little data yet for any of them to gate.'}"
        )

    def _passing(self) -> str:
        held = self.frozen_by_hand or self.standing is not Standing.OPEN
        state = "frozen by hand" if self.frozen_by_hand else self.standing.value
        now = (
            f"It passes although {self.question.scope} is {state}." if held else "No freeze holds."
        )
        return f"Allowed: a {self.question.change} change passes even during a freeze. {now}"

    def _without_override(self) -> str:
        if self.frozen_by_hand:
            return "deny"
        return {"open": "allow", "frozen": "deny", "unknown": "unknown"}[self.standing.value]

    def _unknown(self) -> str:
        if self.asked.data_through_us is None:
            return (
                "Unknown: nothing was recorded before this moment."
                " Ingest records, or ask about a later moment."
            )
        if self.asked.stale:
            return (
                f"Unknown: the newest data are of {rfc3339(self.asked.data_through_us)}, too old to"
                " decide on. Ingest what came since (`headway ingest PATH`), or record an override."
            )
        return (
            f"Unknown: no large instrumented job of {self.question.scope} ran in these 30 days, so"
            " its goodput is not known. Ask about a wider scope, or record an override."
        )

    def _denied(self) -> str:
        parts = [_spent(report) for report in self.blocking()]
        thaws = [report.thaw.at_us for report in self.blocking() if report.thaw]
        last_us = max((at for at in thaws if at is not None), default=None)
        then = f"thaws by {rfc3339(last_us)}" if last_us else "thaws with the next closed hour"
        why = "; ".join(parts) or "it was frozen before the data went stale"
        passing = " and ".join(self.facts.policy.changes.passing)
        return (
            f"Denied: {why}. If nothing more is lost {self.question.scope} {then}; {passing}"
            " changes pass meanwhile."
        )

    def _least_left(self) -> str:
        shares = [
            (report.budget.remaining_share, report)
            for report in self.reports
            if report.state is State.WITHIN and report.budget.remaining_share is not None
        ]
        if not shares:
            return ""
        share, report = min(shares, key=lambda pair: pair[0] or 0)
        percent = f"{float(share or 0) * 100:.0f} %"
        return f"The least is left of {report.series.slo}: {percent} of its budget."


def _broken(report: Report) -> str:
    jobs = list(report.spending()["job"])
    more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
    return (
        f"{report.series.slo} of {report.series.scope} is broken ({', '.join(jobs[:3])}{more} lost"
        " more than one checkpoint interval to storage; `headway restore-test JOB` mends it where"
        " the newest checkpoint passes)"
    )


def _spent(report: Report) -> str:
    if report.series.measure == "checkpoint_durability":
        return _broken(report)
    amount = report.budget.amount
    mostly = next((s["name"] for s in spenders(report) if s["by"] in ("category", "cause")), None)
    most = f", most of it {mostly}" if mostly else ""
    if report.series.unit is Unit.COUNT:
        lost = f"{amount.bad} of {amount.total} missed, {report.budget.allowed} allowed"
    else:
        unit = "GPU-hours" if report.series.unit is Unit.GPU_US else "hours"
        lost = f"{hours(amount.bad)} {unit} lost, {hours(report.budget.allowed)} allowed in 30 days"
    return f"{report.series.slo} of {report.series.scope} has spent its budget ({lost}{most})"


def _warning(reading: Reading) -> str | None:
    if reading.state is State.INSUFFICIENT:
        return f"{reading.slo} of {reading.scope} has too little data to gate"
    if reading.state is State.UNKNOWN and not reading.required:
        return f"{reading.slo} of {reading.scope} has no data and does not gate"
    return None


def _unattributed(report: Report) -> str | None:
    """A freeze that stands only because of time that no record explains says so."""
    if report.series.measure != "goodput":
        return None
    unexplained = report.spending()["category"].get("unattributed", 0)
    amount = report.budget.amount
    explained = Budget(Amount(amount.total, amount.bad - unexplained), report.series.target)
    if explained.is_exhausted or not report.budget.is_exhausted:
        return None
    jobs = report.facts.unattributed_jobs(
        report.series.scope, report.moment.start_us, report.moment.end_us
    )
    return (
        f"{report.series.slo} of {report.series.scope} is spent only by time that no record"
        f" explains, of jobs {', '.join(jobs[:5])}"
    )


def _shown(ruling: Ruling) -> dict[str, Any]:
    return {
        "id": ruling.id,
        "who": ruling.who,
        "why": ruling.why,
        "scope": str(ruling.scope),
        "at": rfc3339(ruling.at_us),
        "until": rfc3339(ruling.until_us),
    }


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
