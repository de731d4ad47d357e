"""Node states out of samples: one record a change, none where nothing is known.

The queries of a site's policy stand in order: at each moment the first one that holds of a node is
its state, and `idle` where none does. A query that should say something of the node and does not
makes the moment unknown, unless one before it holds. Of an unknown moment no record is made: the
last state goes on, as the accounting rules have it, and the gap is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from metrics.collecting import StateQuery
from metrics.errors import UsageError
from pipelines.prometheus.cleaning import Clean, Counts, Grid
from pipelines.records import MAX_STEP

IDLE = "idle"
Values = dict[str, dict[int, float]]
"""{node: {second: the largest value}}"""


@dataclass(frozen=True)
class NodeState:
    """What a node is: its state, and how many GPUs it has."""

    state: str
    gpus: int


@dataclass(frozen=True)
class Answer:
    """What one state query says, by node."""

    query: StateQuery
    values: Values

    def verdict(self, node: str, at: int) -> bool | None:
        """Whether the node is in this state; None where that is not known."""
        value = self.values.get(node, {}).get(at)
        if value is not None:
            return value > 0
        return None if self.query.absence == "unknown" else False


def by_node(name: str, cleaned: list[Clean]) -> Values:
    """The largest value of each node at each moment. Raises UsageError without a label node."""
    found: Values = {}
    for series in cleaned:
        node = series.labels.get("node")
        if node is None:
            raise UsageError(
                f"query {name}: a series has no label node; say what it is called there"
                " (prometheus.aliases)"
            )
        moments = found.setdefault(node, {})
        for at, value in series.numbers.items():
            moments[at] = max(value, moments.get(at, value))
    return found


def changes(
    grid: Grid,
    gpus: Values,
    answers: list[Answer],
    known: Mapping[str, NodeState],
    cluster: str | None,
    counts: Counts,
) -> tuple[list[dict[str, Any]], dict[str, NodeState]]:
    """The node_state records of a chunk, and what each node is after it.

    A node that never had GPUs is none of the cluster's: nothing is said of it. One that has none
    any more is said to have 0, which takes it out.
    """
    after = dict(known)
    records = []
    for node in sorted(known.keys() | gpus.keys()):
        silent = 0
        for at in grid.moments:
            now = _now(node, at, answers, gpus, after.get(node))
            if now is None:
                silent += 1
                continue
            counts.gap(silent, grid.step_s)
            silent = 0
            counts.used += 1
            if now != after.get(node):
                after[node] = now
                records.append(_record(node, now, at, cluster))
        counts.gap(silent, grid.step_s)
    records.sort(key=lambda record: (record["ts"], record["node"]))
    counts.records += len(records)
    return records, after


def _now(
    node: str, at: int, answers: list[Answer], gpus: Values, before: NodeState | None
) -> NodeState | None:
    """What the node is at a moment; None where its state is not known, or it never had GPUs."""
    state = _state(node, at, answers)
    number = gpus.get(node, {}).get(at)
    size = (before.gpus if before else 0) if number is None else _whole(node, number)
    return NodeState(state, size) if state and (size or before) else None


def _state(node: str, at: int, answers: list[Answer]) -> str | None:
    for answer in answers:
        verdict = answer.verdict(node, at)
        if verdict is None:
            return None
        if verdict:
            return answer.query.state
    return IDLE


def _whole(node: str, number: float) -> int:
    if not number.is_integer() or not 0 <= number <= MAX_STEP:
        raise UsageError(f"query gpus: node {node} has {number:g} GPUs; count whole ones")
    return int(number)


def _record(node: str, now: NodeState, at: int, cluster: str | None) -> dict[str, Any]:
    record = {
        "event": "node_state",
        "ts": datetime.fromtimestamp(at, UTC).isoformat(),
        "node": node,
        "gpus": now.gpus,
        "state": now.state,
    }
    return record | ({"cluster": cluster} if cluster else {})
