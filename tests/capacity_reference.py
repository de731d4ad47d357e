"""A second, plain reading of the capacity rules, to compare the SQL models with.

It walks through time from one moment at which anything changes to the next, and asks of every node
and every job what it is at then. Slow on purpose; nothing of the product is imported.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import reference
from reference import HOUR_US

SEVERITY = (
    "idle",
    "warm_pool",
    "spare_for_restart",
    "gang_reserved",
    "backfill",
    "allocated",
    "power_capped",
    "draining",
    "maintenance",
    "down",
)
"""Of several states that are said of a node at one moment the last in this order counts."""

HOLDABLE = ("allocated", "backfill", "draining", "unknown")
"""In these states a job may hold GPUs of a node."""

Node = tuple[str, str]
"""(cluster, name)"""
Row = tuple[str, int, str, str, str | None]
"""(cluster, hour_us, category, component, tenant)"""


def names(text: str) -> list[str]:
    """The nodes of a set of the shapes that the streams here use: `n1`, `8,13,26-27`, `n[1-3]`."""
    if "[" in text:
        prefix, inside = text.rstrip("]").split("[")
        return [prefix + name for name in names(inside)]
    found = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        found += [str(n) for n in range(int(first), int(last) + 1)] if last else [item]
    return found


@dataclass(frozen=True)
class Hold:
    """What a job is at from a moment on: held, waiting or none."""

    at_us: int
    kind: str
    nodes: tuple[str, ...] | None = None
    gpus: int | None = None

    def on(self, node: str) -> int | None:
        """Its GPUs on a node; None: all of it."""
        assert self.nodes is not None
        if self.gpus is None:
            return None
        each, rest = divmod(self.gpus, len(self.nodes))
        return each + (self.nodes.index(node) < rest)


class Worker:
    """One job as capacity sees it."""

    def __init__(self, job: reference.Job) -> None:
        self.name, self.job = job.name, job
        self.cluster = str(job.latest_given("cluster") or "default")
        self.tenant = str(job.latest_given("tenant") or "unknown")
        self.gpus = self.known_gpus()
        self.holds = self.find_holds()

    def known_gpus(self) -> int | None:
        """Of the latest allocation that names them, else of the submission."""
        for event in ("resources_allocated", "job_submitted"):
            given = [e for e in self.job.of(event) if e.get("gpus") is not None]
            if given:
                return int(max((e["ts_us"], e["gpus"]) for e in given)[1])
        return None

    def find_holds(self) -> list[Hold]:
        """Every moment at which anything of it may change, with what it is at from then on."""
        job = self.job
        moments = {e["ts_us"] for e in job.events}
        if job.start_us is not None:
            moments |= {b.time_us for b in job.boundaries} | {job.start_us, job.end_us}
            moments |= {t for s in job.suspensions for t in (s.start_us, s.end_us)}
        found: list[Hold] = []
        for moment in sorted(moments):
            now = self.at(moment)
            if not found or (now.kind, now.nodes, now.gpus) != (
                found[-1].kind,
                found[-1].nodes,
                found[-1].gpus,
            ):
                found.append(now)
        return found

    def at(self, moment: int) -> Hold:
        """What it is at at a moment."""
        phase = self.phase(moment)
        if phase == "held":
            return Hold(moment, "held", *self.allocation(moment))
        if phase == "waiting" and not self.held_back(moment):
            return Hold(moment, "waiting", None, self.gpus)
        return Hold(moment, "none")

    def phase(self, moment: int) -> str:
        job = self.job
        submissions = job.of("job_submitted")
        until = job.start_us if job.start_us is not None else job.recorded_end()
        if job.start_us is None or moment < job.start_us:
            if (
                submissions
                and submissions[0]["ts_us"] <= moment
                and (moment < until or (job.start_us is None and not job.ended))
            ):
                return "waiting"
            return "none"
        if moment >= job.end_us or any(s.holds(moment) for s in job.suspensions):
            return "none"
        latest = max(i for i, b in enumerate(job.boundaries) if b.time_us <= moment)
        return "waiting" if job.states[latest].component == "requeue" else "held"

    def allocation(self, moment: int) -> tuple[tuple[str, ...] | None, int | None]:
        given = [e for e in self.job.of("resources_allocated") if e["ts_us"] <= moment]
        if not given:
            return None, self.gpus
        latest = max(given, key=lambda e: (e["ts_us"], e["attempt"]))
        nodes = {name for text in latest.get("nodes") or () for name in names(text)}
        gpus = latest.get("gpus")
        return tuple(sorted(nodes)) or None, self.gpus if gpus is None else gpus

    def held_back(self, moment: int) -> bool:
        """Whether the last reason of the present wait is its owner's, or another job."""
        pending = [e for e in self.job.of("job_pending") if e["ts_us"] <= moment]
        if not pending:
            return False
        last_us = pending[-1]["ts_us"]
        reasons = {e["reason"] for e in pending if e["ts_us"] == last_us}
        between = [b for b in self.change_moments() if last_us < b <= moment]
        interrupted = any(self.phase(b) != "waiting" for b in between)
        return bool(reasons & {"user_hold", "dependency"}) and not interrupted

    def change_moments(self) -> list[int]:
        job = self.job
        if job.start_us is None:
            return []
        edges = [t for s in job.suspensions for t in (s.start_us, s.end_us)]
        return [b.time_us for b in job.boundaries] + edges + [job.start_us, job.end_us]


class Capacity:
    """The capacity ledger of a stream; `rows` has GPU-µs by (cluster, hour, …)."""

    def __init__(self, lifecycle: list[dict], steps: list[dict], as_of_us: int | None) -> None:
        derived = reference.derive(lifecycle, steps, as_of_us)
        self.rows: dict[Row, int] = defaultdict(int)
        self.installed: dict[int, int] = defaultdict(int)
        if derived.as_of_us is None:
            return
        self.as_of_us = derived.as_of_us
        self.ledgers = {name: job.ledger for name, job in derived.jobs.items()}
        self.workers = workers(lifecycle, steps, self.as_of_us)
        self.nodes = node_states(lifecycle, self.as_of_us)
        for hour_us in self.hours():
            self.derive(hour_us)
        self.rows = {row: us for row, us in self.rows.items() if us}

    def hours(self) -> list[int]:
        moments = [t for points in self.nodes.values() for t, _, _ in points]
        moments += [h.at_us for w in self.workers for h in w.holds]
        first = min(moments, default=self.as_of_us)
        return list(range(first - first % HOUR_US, self.as_of_us, HOUR_US))

    def derive(self, hour_us: int) -> None:
        until_us = min(hour_us + HOUR_US, self.as_of_us)
        spans = list(self.spans(hour_us, until_us))
        ghosts = self.ghosts(spans)
        held: dict[tuple[Worker, str], int] = defaultdict(int)
        free: dict[tuple[str, str], int] = defaultdict(int)
        stranded: dict[str, int] = defaultdict(int)
        unplaced: dict[Worker, int] = defaultdict(int)
        for a, b in spans:
            idle: dict[str, int] = defaultdict(int)
            for node in self.nodes.keys() | ghosts.keys():
                state, gpus = self.state(node, a) or ("unknown", ghosts.get(node, 0))
                self.installed[hour_us] += (b - a) * gpus
                left = gpus
                for worker, wanted in self.holders(node, a) if state in HOLDABLE else ():
                    taken = min(left, gpus if wanted is None else wanted)
                    held[worker, state] += (b - a) * taken
                    left -= taken
                free[node[0], state] += (b - a) * left
                idle[node[0]] += left if state == "idle" else 0
            for worker in self.workers:
                hold = self.hold(worker, a)
                if hold.kind == "held" and hold.nodes is None:
                    unplaced[worker] += (b - a) * (1 if hold.gpus is None else hold.gpus)
            for cluster, gpus in idle.items():
                stranded[cluster] += (b - a) * self.wanted(cluster, gpus, a)
        self.place(hour_us, unplaced, held, free)
        for cluster, gpu_us in stranded.items():
            free[cluster, "idle"] -= gpu_us
            free[cluster, "stranded"] += gpu_us
        for (cluster, state), gpu_us in free.items():
            component = "no_record" if state == "allocated" else "node"
            self.rows[cluster, hour_us, state, component, None] += gpu_us
        for (worker, state), gpu_us in held.items():
            self.share_out(worker, state, hour_us, gpu_us)

    def spans(self, hour_us: int, until_us: int) -> Iterator[tuple[int, int]]:
        moments = {t for points in self.nodes.values() for t, _, _ in points}
        moments |= {h.at_us for w in self.workers for h in w.holds}
        inside = {t for t in moments if hour_us < t < until_us}
        return pairwise(sorted(inside | {hour_us, until_us}))

    def state(self, node: Node, moment: int) -> tuple[str, int] | None:
        found = [(s, g) for t, s, g in self.nodes.get(node, ()) if t <= moment]
        return found[-1] if found else None

    def hold(self, worker: Worker, moment: int) -> Hold:
        found = [h for h in worker.holds if h.at_us <= moment]
        return found[-1] if found else Hold(moment, "none")

    def holders(self, node: Node, moment: int) -> list[tuple[Worker, int | None]]:
        """Who holds a node, whoever got it last first, with how many GPUs."""
        found = []
        for worker in self.workers:
            hold = self.hold(worker, moment)
            if hold.kind == "held" and worker.cluster == node[0] and node[1] in (hold.nodes or ()):
                found.append((-hold.at_us, worker.name, worker, hold.on(node[1])))
        return [(worker, gpus) for _, _, worker, gpus in sorted(found, key=lambda f: f[:2])]

    def ghosts(self, spans: list[tuple[int, int]]) -> dict[Node, int]:
        """Nodes that jobs held before any state of them is known, with the most GPUs at once."""
        found: dict[Node, int] = {}
        for a, _ in spans:
            named = {
                (w.cluster, n)
                for w in self.workers
                for h in [self.hold(w, a)]
                if h.kind == "held"
                for n in h.nodes or ()
            }
            for node in named:
                if self.state(node, a) is None:
                    at_once = sum(gpus or 0 for _, gpus in self.holders(node, a))
                    found[node] = max(found.get(node, 0), at_once)
        return found

    def wanted(self, cluster: str, idle: int, moment: int) -> int:
        """How many of the idle GPUs jobs that fit wait for."""
        holds = [self.hold(w, moment) for w in self.workers if w.cluster == cluster]
        fitting = [h.gpus for h in holds if h.kind == "waiting" and h.gpus is not None]
        return min(idle, sum(gpus for gpus in fitting if gpus <= idle))

    def place(
        self,
        hour_us: int,
        unplaced: dict[Worker, int],
        held: dict[tuple[Worker, str], int],
        free: dict[tuple[str, str], int],
    ) -> None:
        """Jobs without nodes have what is allocated without a record, the longest holder first."""

        def since(worker: Worker) -> tuple[int, str]:
            ended = [h for h in worker.holds if h.at_us < hour_us + HOUR_US]
            later = [
                h.at_us
                for h, after in zip(ended, [*ended[1:], None], strict=True)
                if h.kind == "held" and h.nodes is None and (after is None or after.at_us > hour_us)
            ]
            return min(later), worker.name

        for worker in sorted(unplaced, key=since):
            taken = min(unplaced[worker], free[worker.cluster, "allocated"])
            free[worker.cluster, "allocated"] -= taken
            held[worker, "allocated"] += taken

    def share_out(self, worker: Worker, state: str, hour_us: int, gpu_us: int) -> None:
        """What a job held goes to what its ledger has, whole µs by the largest remainder."""
        spent: dict[tuple[str, str], int] = defaultdict(int)
        for (hour, category, component, _), us in self.ledgers[worker.name].items():
            if hour == hour_us and component != "requeue":
                spent[category, component] += us
        whole = sum(spent.values())
        parts = {key: Fraction(gpu_us * us, whole) for key, us in spent.items()} if gpu_us else {}
        given = {key: int(part) for key, part in parts.items()}
        by_rest = sorted(parts, key=lambda key: (given[key] - parts[key], key))
        for key in by_rest[: gpu_us - sum(given.values())]:
            given[key] += 1
        for (category, component), us in given.items():
            named = (
                (state, category) if state in ("backfill", "draining") else (category, component)
            )
            self.rows[worker.cluster, hour_us, *named, worker.tenant] += us


def workers(lifecycle: list[dict], steps: list[dict], as_of_us: int) -> list[Worker]:
    """Every job, read as reference.derive reads it."""
    events = reference.distinct_events(e for e in lifecycle if e["ts_us"] <= as_of_us)
    steps = reference.distinct_steps(s for s in steps if s["ts_us"] <= as_of_us)
    windows = reference.maintenance_windows(events, as_of_us)
    events_of, steps_of = reference.by_job(events), reference.by_job(steps)
    return [
        Worker(reference.Job(name, events_of[name], steps_of[name], windows, as_of_us, 6 * HOUR_US))
        for name in sorted(events_of.keys() | steps_of.keys())
    ]


def node_states(lifecycle: list[dict], as_of_us: int) -> dict[Node, list[tuple[int, str, int]]]:
    """Every node's states in order: (from when, state, GPUs)."""
    said: dict[Node, dict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for e in lifecycle:
        if e["event"] == "node_state" and e["ts_us"] <= as_of_us:
            for name in names(e["node"]):
                node = (e.get("cluster") or "default", name)
                said[node][e["ts_us"]].add((SEVERITY.index(e["state"]), e["gpus"]))
    return {
        node: [(t, SEVERITY[max(told)[0]], max(told)[1]) for t, told in sorted(moments.items())]
        for node, moments in said.items()
    }
