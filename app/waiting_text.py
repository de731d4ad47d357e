"""Waits and contracts in words and rows, for the pages and for the review that is exported."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from answers import waits
from app import format
from metrics.contracts import CONTRACTS

Rows = list[dict[str, str]]


def place(row: Mapping[str, Any]) -> str:
    """Number 2 of 5 in standard; empty for a job that is not in the line."""
    if row["position"] is None:
        return ""
    return f"number {row['position']} of {row['of']} in {row['tier']} by age"


def outlook(row: Mapping[str, Any]) -> str:
    """What a waiting job may expect from what comparable ones went through."""
    expected: waits.Expectation = row["expectation"]
    kind = f"{row['size']} {row['tier']} job"
    if not expected.comparable:
        return f"what to expect is unknown: no {kind} had waited as long"
    like = f"{format.plural(expected.comparable, kind)} that had waited as long"
    if expected.p50_us is None:
        return f"what to expect is unknown, with {like}"
    half = format.duration(max(0, expected.p50_us - row["waited_us"]))
    if expected.p90_us is None:
        return f"of {like}, half started within {half} more"
    late = format.duration(max(0, expected.p90_us - row["waited_us"]))
    return f"of {like}, half started within {half} more, 90 % within {late}"


def explained(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Waiting time and the explained share of it, of all and by tier."""
    return [
        {
            "Tier": row["tier"] or "all",
            "Waited in all": format.duration(row["wait_us"]),
            "Explained": share(row),
            "Unexplained": format.duration(row["wait_us"] - row["explained_us"]),
        }
        for row in rows
    ]


def share(row: Mapping[str, Any]) -> str:
    """The explained share; unknown where nothing waited."""
    whole: int = row["wait_us"]
    return format.percent(Fraction(row["explained_us"], whole) if whole > 0 else None)


def summary(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """How often each contract was kept, broken and not judged."""
    return [
        {
            "Contract": format.capital(row["promise"]),
            "Broken": format.count(row["broken"]),
            "Kept": format.count(row["kept"]),
            "Unknown": format.count(row["unknown"]),
        }
        for row in rows
    ]


def breach(row: Mapping[str, Any]) -> str:
    """A breach in words: when, which contract, how."""
    how = format.capital(row["detail"])
    return f"{format.moment(row['at_us'])}: {CONTRACTS[row['contract']]}. {how}."


def breaches(rows: Sequence[Mapping[str, Any]], most: int) -> Rows:
    """The newest breaches, with the job, how, and the moment."""
    return [
        {
            "Job": row["job"],
            "How": format.capital(row["detail"]),
            "Contract": format.capital(CONTRACTS[row["contract"]]),
            "At": format.moment(row["at_us"]),
        }
        for row in reversed(rows[-most:])
    ]


def _on_time(row: Mapping[str, Any]) -> str:
    if row["was_on_time"] is None:
        return "called back, may still stay" if row["recalled_us"] else "not called back yet"
    return "yes" if row["was_on_time"] else "no"


def loaned(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Loans of reserved GPUs, and whether each was given back on time."""
    return [
        {
            "Lent to": row["job"],
            "Reserved for": row["for_job"],
            "GPUs": format.count(row["gpus"]),
            "From": format.moment(row["started_us"]),
            "Until": "still lent" if row["ended_us"] is None else format.moment(row["ended_us"]),
            "Preemptible": "yes" if row["is_preemptible"] else "no",
            "Left on time": _on_time(row),
        }
        for row in rows
    ]
