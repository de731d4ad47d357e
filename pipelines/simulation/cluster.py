"""The nodes: who holds them, what state they are in, and how their GPU time is spent.

A node is free for a job when it is up, held by nobody and set aside for nobody else. Free nodes are
kept by what they are set aside for, so that asking how many there are costs nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.simulation.truth import CapacityTruth
from pipelines.simulation.workload import DEVELOPMENT, GPUS_PER_NODE, TRAINING

PLAIN, SPARE, WARM = "plain", "spare", "warm"
"""What a free node is set aside for: nothing, restarts, interactive sessions. Else a job's name."""


@dataclass
class Node:
    """One node; `holder` is the job that has it, `reserved_for` the one that it is gathered for."""

    name: str
    pool: str
    role: str
    holder: str | None = None
    lent: bool = False
    """Held by a backfill job although it is gathered for another."""
    reserved_for: str | None = None
    is_down: bool = False
    is_in_maintenance: bool = False
    is_draining: bool = False
    is_capped: bool = False

    @property
    def gpus(self) -> int:
        """GPUs on it."""
        return GPUS_PER_NODE[self.pool]

    @property
    def is_usable(self) -> bool:
        """Whether a job could start on it if nobody held it."""
        return not (self.is_down or self.is_in_maintenance or self.is_draining or self.is_capped)

    @property
    def state(self) -> str:
        """Its state as node_state says it."""
        if self.is_down:
            return "down"
        if self.is_in_maintenance:
            return "maintenance"
        if self.is_draining:
            return "draining"
        if self.holder is not None:
            return "backfill" if self.lent else "allocated"
        if self.is_capped:
            return "power_capped"
        if self.reserved_for is not None:
            return "gang_reserved"
        return {PLAIN: "idle", SPARE: "spare_for_restart", WARM: "warm_pool"}[self.role]


class Cluster:
    """All nodes. `on_state(node)` is told whenever the state of one changes."""

    def __init__(
        self,
        training_nodes: int,
        spares: int,
        development_nodes: int,
        warm: int,
        capacity: CapacityTruth,
        now: Callable[[], int],
        on_state: Callable[[Node], None],
    ) -> None:
        self.nodes: dict[str, Node] = {}
        for i in range(training_nodes):
            name = f"t{i:04d}"
            self.nodes[name] = Node(name, TRAINING, SPARE if i < spares else PLAIN)
        for i in range(development_nodes):
            name = f"d{i:04d}"
            self.nodes[name] = Node(name, DEVELOPMENT, WARM if i < warm else PLAIN)
        self.installed = Counter[str]()
        """GPUs of each pool."""
        for node in self.nodes.values():
            self.installed[node.pool] += node.gpus
        self._spares = [node for node in self.nodes.values() if node.role == SPARE]
        self._capacity = capacity
        self._now = now
        self._on_state = on_state
        self._free: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._kept_under: dict[str, tuple[str, str]] = {}
        self._since: dict[str, tuple[str, int]] = {}
        self._in_state: Counter[tuple[str, str]] = Counter()

    def begin(self) -> None:
        """Tell the state of every node."""
        for node in self.nodes.values():
            self.changed(node)

    @property
    def gpus(self) -> int:
        """Installed GPUs."""
        return sum(self.installed.values())

    def free(self, pool: str, role: str) -> list[str]:
        """Free nodes of a pool that are set aside for this, by name."""
        return sorted(self._free[pool, role])

    def count_free(self, pool: str, role: str) -> int:
        """How many nodes `free` would name."""
        return len(self._free[pool, role])

    def count_in_state(self, pool: str, state: str) -> int:
        """How many nodes of a pool are in a state."""
        return self._in_state[pool, state]

    def replenish_spares(self) -> None:
        """Let free nodes take the place of spares that are held or down."""
        gone = [i for i, node in enumerate(self._spares) if node.holder or not node.is_usable]
        for i, name in zip(gone, self.free(TRAINING, PLAIN), strict=False):
            spent, fresh = self._spares[i], self.nodes[name]
            spent.role, fresh.role = PLAIN, SPARE
            self._spares[i] = fresh
            self.changed(spent)
            self.changed(fresh)

    def changed(self, node: Node) -> None:
        """Take note of what happened to a node."""
        if not node.is_usable and node.holder is None:
            node.reserved_for = None
        self._file(node)
        state, now = node.state, self._now()
        before, since = self._since.get(node.name, ("", now))
        if state == before:
            return
        if before:
            self._capacity.add(before, node.gpus, since, now)
            self._in_state[node.pool, before] -= 1
        self._since[node.name] = (state, now)
        self._in_state[node.pool, state] += 1
        self._on_state(node)

    def _file(self, node: Node) -> None:
        old = self._kept_under.pop(node.name, None)
        if old is not None:
            self._free[old].pop(node.name, None)
        if node.is_usable and node.holder is None:
            key = (node.pool, node.reserved_for or node.role)
            self._free[key][node.name] = None
            self._kept_under[node.name] = key

    def finish(self) -> None:
        """Count the time of every node up to now."""
        for name, (state, since) in self._since.items():
            self._capacity.add(state, self.nodes[name].gpus, since, self._now())
