"""Random streams of node states over the jobs of `streams`, with all that goes wrong with them."""

from itertools import pairwise
from random import Random

import capacity_reference
import streams
from streams import HOUR_US, SECOND_US

STATES = (
    "allocated",
    "allocated",
    "allocated",
    "idle",
    "idle",
    "spare_for_restart",
    "warm_pool",
    "draining",
    "gang_reserved",
    "backfill",
    "maintenance",
    "down",
    "power_capped",
)
FLAP_US = 16_000
LONG_DRAIN_US = 43 * 24 * HOUR_US
NODES = ("n1", "n2", "n3", "n[1-3]", "n[2,4]", "n5", "8", "8,13,26-27", "n1,n2")
"""Some never named by jobs; of those that jobs name, n4 has a state in some streams only."""


def random_stream(seed: int) -> streams.Stream:
    """Jobs as streams.random_stream has them, with tenants, and states of their nodes."""
    rng = Random(seed)
    lifecycle, steps = streams.random_stream(seed, streams.Knobs(max_attempts=3))
    clusters = rng.choice(((None,), (None,), (None, "east", "west")))
    for event in lifecycle:
        if event["event"] == "job_submitted":
            event["tenant"] = f"of-{event['job']}"
        if event.get("cluster") not in clusters:
            event.pop("cluster", None)
    times = sorted(r["ts_us"] for r in lifecycle + steps)
    told = [told for _ in range(rng.randint(0, 14)) for told in states(rng, times, clusters)]
    lifecycle += told
    if rng.random() < 0.3 and told:
        lifecycle += restarted_controller(told, rng.choice(times))
    rng.shuffle(lifecycle)
    return lifecycle, steps


def states(rng: Random, times: list[int], clusters: tuple) -> list[dict]:
    """One change of a node or a set of them; a flap, or a drain of 43 days, now and then."""
    at_us = rng.choice(times) + rng.choice((0, 0, 0, 1, -1, -HOUR_US, 7 * SECOND_US))
    if rng.random() < 0.3:
        at_us = times[0] - rng.choice((0, HOUR_US, SECOND_US))
    node, cluster = rng.choice(NODES), rng.choice(clusters)
    told = [(at_us, rng.choice(STATES))]
    if rng.random() < 0.15:
        told.append((at_us + FLAP_US, rng.choice(STATES)))
    if rng.random() < 0.02:
        told.append((at_us - LONG_DRAIN_US, "draining"))
    return [
        streams.without_nones(
            {
                "event": "node_state",
                "ts_us": ts_us,
                "node": node,
                "cluster": cluster,
                "gpus": rng.choice((8, 8, 8, 4, 0, 3)),
                "state": state,
            }
        )
        for ts_us, state in told
    ]


def all_known(at_us: int) -> list[dict]:
    """A state of every node that jobs name, in every cluster."""
    return [
        streams.without_nones(
            {
                "event": "node_state",
                "ts_us": at_us,
                "node": "n[1-4]",
                "cluster": cluster,
                "gpus": 8,
                "state": "allocated",
            }
        )
        for cluster in (None, "east", "west")
    ]


def restarted_controller(told: list[dict], at_us: int) -> list[dict]:
    """What a controller says when it starts again: the state of every record before, once more."""
    latest: dict[tuple, dict] = {}
    for event in sorted(told, key=lambda e: e["ts_us"]):
        if event["ts_us"] <= at_us:
            latest[event.get("cluster"), event["node"]] = event
    return [{**event, "ts_us": at_us} for event in latest.values()]


def faults(lifecycle: list[dict]) -> set[str]:
    """Which of the things that go wrong with node states a stream holds."""
    told: dict[tuple, list[dict]] = {}
    for event in sorted(lifecycle, key=lambda e: e["ts_us"]):
        if event["event"] == "node_state":
            told.setdefault((event.get("cluster"), event["node"]), []).append(event)
    turns = [turn for states in told.values() for turn in pairwise(states)]
    named = [name for _, text in told for name in set(capacity_reference.names(text))]
    held = {n for e in lifecycle if e["event"] == "resources_allocated" for n in e.get("nodes", ())}
    last_us = max(event["ts_us"] for event in lifecycle)
    found = {
        "a set of nodes": any(text == "8,13,26-27" for _, text in told),
        "an overlap": len(named) > len(set(named)),
        "a missing end": any(last_us - states[-1]["ts_us"] > HOUR_US for states in told.values()),
        "a flap": any(b["ts_us"] - a["ts_us"] == FLAP_US for a, b in turns),
        "a long drain": any(
            b["ts_us"] - a["ts_us"] == LONG_DRAIN_US and a["state"] == "draining" for a, b in turns
        ),
        "an unknown node": bool(held - set(named)),
        "a restart": any(
            _repeats_all(told, states[-1]["ts_us"]) for states in told.values() if len(told) > 1
        ),
    }
    return {fault for fault, is_there in found.items() if is_there}


def _repeats_all(told: dict[tuple, list[dict]], at_us: int) -> bool:
    """Whether at a moment every node's latest state before it is said again."""
    for states in told.values():
        before = [e["state"] for e in states if e["ts_us"] < at_us]
        again = [e["state"] for e in states if e["ts_us"] == at_us]
        if before and before[-1] not in again:
            return False
    return any(states[0]["ts_us"] < at_us for states in told.values())
