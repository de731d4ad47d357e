"""Why jobs wait, how long they may expect to, which gangs starve, and which contracts were kept.

Apart from `answers.detail` because the command line asks for it, too. Times are µs.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from answers import detail, questions
from answers.facts import Facts, matches
from answers.mart import Mart
from answers.planning import measured as planning
from answers.wording import span
from metrics.contracts import CONTRACTS, HELD_REASONS, UNEXPLAINED
from metrics.conventions import DAY_US, US_PER_S
from metrics.scope import Scope
from metrics.survival import Span, having_lasted, quantile_us

EXPECTED = {"p50_us": Fraction(1, 2), "p90_us": Fraction(9, 10)}
"""Which quantiles of the waits of comparable jobs are told."""

BLOCKED = {
    "quota": "its tenant's quota is used up",
    "topology": "it needs GPUs that lie close together",
    "power": "the power budget leaves no room for it",
    "priority": "jobs of higher priority go first",
    "dependency": "it waits for another job that it depends on",
    "maintenance": "it waits for maintenance to end",
    "user_hold": "its owner holds it",
    "other": "another reason",
    "": "no reason is on record",
}
"""What blocks a job that is pending, by reason; gang_size is said with its numbers."""


@dataclass(frozen=True)
class Expectation:
    """What comparable jobs that had waited as long went through, in all (None: not reached)."""

    comparable: int
    p50_us: int | None = None
    p90_us: int | None = None


class Waiting:
    """The jobs that wait, with what they may be compared with."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Every job that waits, the oldest first: why, and its place in its tier."""
        found = self._facts.mart.rows("from waiting order by since_us, job")
        as_of_us = self._facts.data_through_us or 0
        for row in found:
            job = self._facts.jobs[row["job"]]
            row |= {"tier": job["tier"], "tenant": job["tenant"], "size": size_of(job)}
            row["waited_us"] = as_of_us - row["since_us"]
            row["now"] = sentence(row, as_of_us)
        _place(found)
        return found

    def of(self, job: str) -> dict[str, Any] | None:
        """The row of a job; None where it does not wait."""
        return next((row for row in self.rows if row["job"] == job), None)

    def gangs(self) -> list[dict[str, Any]]:
        """Jobs that wait for more than one GPU, the oldest first, but those held by their owner."""
        return [row for row in self.rows if _queues(row) and (row["gpus"] or 0) > 1]

    def expectation(self, row: Mapping[str, Any]) -> Expectation:
        """What a job that waits may expect: of one that waits again, what other restarts took."""
        spans = self._restarts if row["is_again"] else self._waits
        lasted = having_lasted(spans[row["tier"], row["size"]], row["waited_us"])
        if len(lasted) < self._facts.policy.waits.comparable_jobs:
            return Expectation(len(lasted))
        return Expectation(
            len(lasted), **{name: quantile_us(lasted, p) for name, p in EXPECTED.items()}
        )

    @cached_property
    def _waits(self) -> dict[tuple[str, str], list[Span]]:
        return self._grouped("select job, wait_us as age_us, censored from queue_waits")

    @cached_property
    def _restarts(self) -> dict[tuple[str, str], list[Span]]:
        return self._grouped("select job, age_us, outcome <> 'recovered' as censored from restarts")

    def _grouped(self, query: str) -> dict[tuple[str, str], list[Span]]:
        """Spans by tier and size."""
        found: dict[tuple[str, str], list[Span]] = defaultdict(list)
        for row in self._facts.mart.rows(query):
            job = self._facts.jobs[row["job"]]
            found[job["tier"], size_of(job)].append(Span(row["age_us"], row["censored"]))
        return found


def size_of(job: Mapping[str, Any]) -> str:
    """large, short or small, as the policy's classes have it."""
    if job["large_us"] is not None:
        return "large"
    return "short" if job["is_short"] else "small"


def _queues(row: Mapping[str, Any]) -> bool:
    """Whether it competes for GPUs: its owner wants it to run."""
    return row["reason"] not in HELD_REASONS


def _place(rows: Sequence[dict[str, Any]]) -> None:
    """Give each row its place by age among those of its tier that compete, and how many those are.

    One that does not compete has none.
    """
    line = Counter(row["tier"] for row in rows if _queues(row))
    ahead: Counter[str] = Counter()
    for row in rows:
        row["position"] = row["of"] = None
        if _queues(row):
            ahead[row["tier"]] += 1
            row["position"], row["of"] = ahead[row["tier"]], line[row["tier"]]


def sentence(row: Mapping[str, Any], as_of_us: int) -> str:
    """Why a job of the table `waiting` waits, in words."""
    parts = [_blocked(row, moment(row["reason_since_us"], as_of_us))]
    if row["gathered_gpus"] is not None:
        gathered_since = moment(row["gathered_since_us"], as_of_us)
        parts.append(f"{row['gathered_gpus']:,} are gathered since {gathered_since}")
    if row["detail"]:
        parts.append(f"the scheduler says “{row['detail']}”")
    again = f"waits again since {moment(row['since_us'], as_of_us)}: " if row["is_again"] else ""
    return again + "; ".join(parts)


def _blocked(row: Mapping[str, Any], since: str) -> str:
    gang = "all its GPUs" if row["gpus"] is None else f"{row['gpus']:,} GPUs"
    needs = f"needs {gang} at once"
    reserved = row["gathered_gpus"] is not None
    if row["part"] == "requeue":
        stopped = f"it was interrupted ({row['cause']})" if row["cause"] else "it had stopped"
        return f"{stopped}, and no reason is on record since" + (f"; {needs}" if reserved else "")
    if row["reason"] == "gang_size":
        return needs if reserved else f"{needs}; none are set aside for it, since {since}"
    return f"{BLOCKED[row['reason']]}, since {since}" + (f"; {needs}" if reserved else "")


def moment(us: int, as_of_us: int) -> str:
    """A moment as a sentence says it: 09:12 UTC, with the day where that is another."""
    at = datetime.fromtimestamp(us / US_PER_S, UTC)
    same_day = us // DAY_US == as_of_us // DAY_US
    return f"{at:%H:%M} UTC" if same_day else f"{at.day} {at:%b %H:%M} UTC"


def why(facts: Facts, job: str) -> dict[str, Any]:
    """Why a job waits, or waited: reasons that sum exactly to the wait. Raises UsageError.

    Time in the queue without a reason on record is unexplained. Once it holds its GPUs the wait
    goes on as launch, load and first_step. A job that was never submitted has no wait.
    """
    questions.job(facts.mart, job)
    waits = facts.mart.rows("select wait_us, censored from queue_waits where job = ?", [job])
    wait_us = waits[0]["wait_us"] if waits else None
    story = _story(facts.mart, job)
    reasons = _reasons(story, wait_us)
    waiting = Waiting(facts)
    present = waiting.of(job)
    unexplained_us = sum(row["us"] for row in reasons if row["reason"] == UNEXPLAINED)
    return {
        "job": job,
        "waiting": present is not None and not present["is_again"],
        "wait_us": wait_us,
        "explained_us": None if wait_us is None else wait_us - unexplained_us,
        "reasons": reasons,
        "now": present["now"] if present else None,
        "history": story,
        "present": _told(present) | {"expectation": vars(waiting.expectation(present))}
        if present
        else None,
    }


def _story(mart: Mart, job: str) -> list[dict[str, Any]]:
    rows = mart.rows(
        "select start_us, end_us, part, reason, detail from wait_story where job = ?"
        " order by start_us",
        [job],
    )
    return [
        {
            "reason": reason_of(row["part"], row["reason"]),
            "start_us": row["start_us"],
            "end_us": row["end_us"],
            "detail": row["detail"],
        }
        for row in rows
    ]


def _reasons(story: list[dict[str, Any]], wait_us: int | None) -> list[dict[str, Any]]:
    """The history summed by reason, in the order in which each came up."""
    if wait_us is not None and wait_us < 0:
        # The first step is stamped before the submission: nothing explains that.
        return [{"reason": UNEXPLAINED, "us": wait_us}]
    sums: dict[str, int] = {}
    for turn in story:
        sums[turn["reason"]] = sums.get(turn["reason"], 0) + turn["end_us"] - turn["start_us"]
    return [{"reason": reason, "us": us} for reason, us in sums.items()]


def reason_of(part: str, reason: str) -> str:
    """What a part of a wait is counted under."""
    if part == "pending":
        return reason or UNEXPLAINED
    return UNEXPLAINED if part == "requeue" else part


_TOLD = ("position", "of", "tier", "size", "since_us", "waited_us", "gpus", "gathered_gpus")


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _TOLD}


def all_waiting(facts: Facts) -> dict[str, Any]:
    """Every job that waits, and how much of the waiting of the last 30 days is explained."""
    rows = Waiting(facts).rows
    end_us = facts.data_through_us or 0
    return {
        "explained": explained(facts, Scope(), end_us - 30 * DAY_US, end_us + 1),
        "waiting": [{"job": row["job"], "now": row["now"]} | _told(row) for row in rows],
    }


def explained(facts: Facts, scope: Scope, start_us: int, end_us: int) -> list[dict[str, Any]]:
    """Waiting time of waits that ended or went on in the span, and what of it is explained.

    By tier, the policy's order first; tier None is all of them.
    """
    sums: dict[str | None, list[int]] = {None: [0, 0]}
    for row in detail.wait_reasons(facts, scope, start_us, end_us):
        us = int(row["us"])
        known_us = 0 if reason_of(row["part"], row["reason"]) == UNEXPLAINED else us
        for tier in (None, row["tier"]):
            found = sums.setdefault(tier, [0, 0])
            found[0] += us
            found[1] += known_us
    ranks = {tier.name: -tier.rank for tier in facts.policy.tiers}
    order = sorted(sums, key=lambda t: (t is not None, ranks.get(t or "", 1), t or ""))
    return [
        {
            "tier": tier,
            "wait_us": sums[tier][0],
            "explained_us": sums[tier][1],
            "share": questions.share(sums[tier][1], sums[tier][0]),
        }
        for tier in order
    ]


def loans(mart: Mart, from_us: int, to_us: int) -> list[dict[str, Any]]:
    """Loans of reserved GPUs that went on in the span, the newest first."""
    return mart.rows(
        "from loans where started_us < ? and coalesce(ended_us, ?) >= ?"
        " order by started_us desc, job",
        [to_us, to_us, from_us],
    )


def contracts(facts: Facts, job: str | None = None) -> list[dict[str, Any]]:
    """Each time a contract was kept, broken or (null) could not be judged, in order of time.

    Raises UsageError for a job that is not there.
    """
    if job is not None:
        questions.job(facts.mart, job)
    return _advised(
        facts,
        facts.mart.rows(
            f"select {_VERDICT} from contracts where job = ? or ? is null"
            " order by at_us nulls first, contract, job, detail",
            [job, job],
        ),
    )


_VERDICT = "contract, job, at_us, kept, detail, interval_us"


def _advised(facts: Facts, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts; where work was lost, also whether the interval is longer than it should be."""
    named = {row["job"] for row in rows if row["interval_us"] is not None}
    found = {row["job"]: row for row in planning.advice(facts, named)}
    for row in rows:
        interval_us, plan = row.pop("interval_us"), found.get(row["job"], {})
        longest_us = plan.get("flat_high_us")
        if interval_us is not None and longest_us is not None and interval_us > longest_us:
            best_s = plan["advised_us"] / US_PER_S
            row["detail"] += (
                f"; its interval of {span(interval_us / US_PER_S)} is longer than the"
                f" {span(best_s)} that its failures and the cost of its saves ask for"
            )
    return rows


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a span about a scope's jobs: how many of each contract, and the breaches."""

    counts: tuple[dict[str, Any], ...]
    broken: tuple[dict[str, Any], ...]
    """In order of time."""
    unjudged: tuple[str, ...]
    """Why a contract is judged of no job at all."""


def verdicts(facts: Facts, scope: Scope, start_us: int, end_us: int) -> Verdicts:
    """How the contracts were kept in a span."""
    where, params = matches(scope, "j")
    inside = (
        f"contracts c join scoped_jobs j using (job) where {where} and at_us >= ? and at_us < ?"
    )
    params = [*params, start_us, end_us]
    counts = facts.mart.rows(
        f"select contract, kept, count(*) as number from {inside} group by all", params
    )
    broken = facts.mart.rows(
        f"select {_VERDICT} from {inside} and not kept order by at_us, contract, job, detail",
        params,
    )
    unjudged = facts.mart.rows("select contract, detail from contracts where job is null")
    numbers = {(row["contract"], row["kept"]): row["number"] for row in counts}
    numbers |= {(row["contract"], None): 1 for row in unjudged}
    broken = _advised(facts, broken)
    return Verdicts(tuple(summed(numbers)), tuple(broken), tuple(row["detail"] for row in unjudged))


def summed(numbers: Mapping[tuple[str, bool | None], int]) -> list[dict[str, Any]]:
    """Each contract's occasions by verdict, in the order of CONTRACTS."""
    return [
        {
            "contract": name,
            "promise": promise,
            "kept": numbers.get((name, True), 0),
            "broken": numbers.get((name, False), 0),
            "unknown": numbers.get((name, None), 0),
        }
        for name, promise in CONTRACTS.items()
    ]
