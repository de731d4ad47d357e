"""The laws of the simulated cluster, read from the events alone where that is possible."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import product
import pytest
from scenarios import made, small

from pipelines.records import EVENTS, FIELDS, check_lifecycle, time_us
from pipelines.simulation.scenario import Rates
from pipelines.simulation.workload import TENANT_SHARES

RANK = {"interactive": 3, "standard": 2, "batch": 1}
DAYS, JOBS = 10, 40
FRAIL = Rates(node_mtbf_us=20 * 24 * 3600 * 10**6)
HOUR_US = 3600 * 10**6
Events = list[dict[str, Any]]


def read_events(folder: Path) -> Events:
    """The lifecycle records of a simulation in order of time, with `us`."""
    records = []
    for path in product.event_files(folder):
        if path.name.endswith(".lifecycle.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                records.append(json.loads(line))
    for record in records:
        record["us"] = time_us(record["ts"])
    return sorted(records, key=lambda record: record["us"])


@pytest.fixture(scope="module")
def events(long_run: Path) -> Events:
    """All lifecycle records of the long run."""
    return read_events(long_run)


def named(events: Events, *names: str) -> Events:
    """The records of some events."""
    return [e for e in events if e["event"] in names]


def kolmogorov(values: list[float], distribution: Callable[[float], float]) -> float:
    """The Kolmogorov distance times √n: above 1.63 in one of a hundred samples."""
    ordered, n = sorted(values), len(values)
    gaps = [
        max(abs(distribution(v) - i / n), abs(distribution(v) - (i + 1) / n))
        for i, v in enumerate(ordered)
    ]
    return max(gaps) * math.sqrt(n)


def test_every_event_of_the_reference_occurs(events: Events) -> None:
    assert EVENTS.keys() - {e["event"] for e in events} == set()


def test_every_cause_and_every_state_of_a_node_occurs(events: Events) -> None:
    causes = Counter(e["cause"] for e in named(events, "interruption"))
    assert set(causes) == {
        *("hardware", "network", "storage", "software"),
        *("preemption", "maintenance", "job_error", "unknown"),
    }
    states = {e["state"] for e in named(events, "node_state")}
    for state in states:
        assert FIELDS["state"](state) == state
    assert len(states) == 10


def test_no_record_has_a_field_outside_the_allow_list(events: Events) -> None:
    for event in events:
        fields = {name: value for name, value in event.items() if name != "us"}
        assert check_lifecycle(fields).dropped == 0


def test_no_gang_starts_partially(events: Events) -> None:
    wanted = {e["job"]: e["gpus"] for e in named(events, "job_submitted")}
    gpus_of = {e["node"]: e["gpus"] for e in named(events, "node_state")}
    allocated = named(events, "resources_allocated")
    assert len(allocated) > 100
    for e in allocated:
        assert len(set(e["nodes"])) == len(e["nodes"])
        assert sum(gpus_of[node] for node in e["nodes"]) == e["gpus"] == wanted[e["job"]]


def test_no_node_is_allocated_before_it_was_free_again(events: Events) -> None:
    free: set[str] = set()
    for e in named(events, "node_state", "resources_allocated"):
        if e["event"] == "resources_allocated":
            assert set(e["nodes"]) <= free
            free -= set(e["nodes"])
        elif e["state"] in ("idle", "spare_for_restart", "warm_pool", "gang_reserved"):
            free.add(e["node"])


def test_only_nodes_that_can_work_are_allocated(events: Events) -> None:
    state: dict[str, str] = {}
    for e in named(events, "node_state", "resources_allocated"):
        if e["event"] == "node_state":
            state[e["node"]] = e["state"]
        else:
            # The nodes' own records of the same moment may stand before or after.
            assert all(state[n] not in ("down", "maintenance", "power_capped") for n in e["nodes"])


def test_no_job_is_preempted_by_one_of_a_lower_tier(events: Events) -> None:
    tier = {e["job"]: e["tier"] for e in named(events, "job_submitted")}
    lent: dict[str, str] = {}
    signals = 0
    for e in named(events, "backfill_started", "backfill_ended", "preemption_signal"):
        if e["event"] == "backfill_started":
            lent[e["job"]] = e["for_job"]
        elif e["event"] == "backfill_ended":
            del lent[e["job"]]
        else:
            signals += 1
            assert tier[e["job"]] == "batch"
            # A loan of reserved nodes is called back by whoever they are reserved for.
            is_loan = lent.get(e["job"]) == e["by_job"]
            assert is_loan or RANK[tier[e["job"]]] < RANK[tier[e["by_job"]]]
    assert signals > 10


def test_only_a_job_beyond_its_tenants_share_waits_for_quota(events: Events) -> None:
    submitted = {e["job"]: e for e in named(events, "job_submitted")}
    pool_of = {e["job"]: e["nodes"][0][0] for e in named(events, "resources_allocated")}
    installed: Counter[str] = Counter()
    for name, gpus in {e["node"]: e["gpus"] for e in named(events, "node_state")}.items():
        installed[name[0]] += gpus
    running: set[str] = set()
    waits = 0
    for e in named(events, "resources_allocated", "interruption", "job_ended", "job_pending"):
        if e["event"] == "resources_allocated":
            running.add(e["job"])
        elif e["event"] != "job_pending":
            running.discard(e["job"])
        elif e["job"] in running:
            running.discard(e["job"])  # what stopped it went unrecorded
        elif e["reason"] == "quota" and e["job"] in pool_of:
            waits += 1
            mine, pool = submitted[e["job"]], pool_of[e["job"]]
            held = sum(
                submitted[job]["gpus"]
                for job in running
                if submitted[job]["tenant"] == mine["tenant"]
                and submitted[job]["tier"] != "batch"
                and pool_of[job] == pool
            )
            assert mine["tier"] != "batch"
            assert held + mine["gpus"] > TENANT_SHARES[mine["tenant"]] * installed[pool]
    assert waits > 0


def test_backfill_is_preemptible_work_only(events: Events) -> None:
    tier = {e["job"]: e["tier"] for e in named(events, "job_submitted")}
    backfill = named(events, "backfill_started")
    assert backfill
    assert all(e["preemptible"] and tier[e["job"]] == "batch" for e in backfill)


def test_the_preemption_contract_holds_except_where_the_truth_says_so(
    long_run: Path, events: Events
) -> None:
    rows = product.truth_rows(long_run, "breaches")
    broken = {(r["job"], r["attempt"]) for r in rows if r["kind"] != "durability"}
    signals = {(e["job"], e["attempt"]): e for e in named(events, "preemption_signal")}
    saved: dict[tuple[str, int], int] = {}
    reclaims = 0
    for e in named(events, "checkpoint_completed", "interruption"):
        key = (e["job"], e["attempt"])
        if e["event"] == "checkpoint_completed":
            saved[key] = e["us"]
        elif e["cause"] == "preemption":
            reclaims += 1
            signal = signals.get(key)
            kept = signal is not None and (
                e["us"] - signal["us"] >= signal["grace_s"] * 10**6
                or signal["us"] < saved.get(key, 0) <= e["us"]
            )
            assert kept == (key not in broken)
    assert reclaims > 10 and broken


def test_an_interrupted_job_is_requeued_by_itself(long_run: Path, events: Events) -> None:
    ended = {e["job"] for e in named(events, "job_ended")}
    attempts: dict[str, int] = {}
    interrupted: dict[str, int] = {}
    for e in named(events, "resources_allocated", "interruption"):
        if e["event"] == "resources_allocated":
            assert e["attempt"] == attempts.get(e["job"], -1) + 1
            attempts[e["job"]] = e["attempt"]
        else:
            interrupted[e["job"]] = e["attempt"]
    waiting = {job for job, attempt in interrupted.items() if attempts[job] == attempt} - ended
    open_restarts = {
        row["job"] for row in product.truth_rows(long_run, "restarts") if row["outcome"] == "open"
    }
    assert waiting <= open_restarts
    assert len(interrupted) > len(waiting)


def test_a_reservation_grows_until_its_gang_starts(events: Events) -> None:
    open_reservations: set[str] = set()
    for e in named(events, "reservation_started", "reservation_updated", "reservation_ended"):
        if e["event"] == "reservation_started":
            assert e["job"] not in open_reservations
            open_reservations.add(e["job"])
        else:
            assert e["job"] in open_reservations
        if e["event"] == "reservation_ended":
            open_reservations.remove(e["job"])
    assert len(open_reservations) <= 2  # one for each pool of nodes


def test_capacity_sums_to_the_installed_gpu_time_and_follows_from_node_states(
    long_run: Path, events: Events
) -> None:
    told = named(events, "node_state")
    installed = sum({e["node"]: e["gpus"] for e in told}.values())
    rows = product.truth_rows(long_run, "capacity")
    by_hour: Counter[int] = Counter()
    by_state: Counter[str] = Counter()
    for row in rows:
        by_hour[row["hour_us"]] += row["gpu_us"]
        by_state[row["state"]] += row["gpu_us"]
    assert set(by_hour.values()) == {installed * HOUR_US}
    last_us = events[-1]["us"]
    recomputed: Counter[str] = Counter()
    of_node: dict[str, Events] = defaultdict(list)
    for e in told:
        of_node[e["node"]].append(e)
    for states in of_node.values():
        for now, later in pairwise([*states, {"us": last_us}]):
            recomputed[now["state"]] += (later["us"] - now["us"]) * now["gpus"]
    assert {k: v for k, v in recomputed.items() if v} == dict(by_state)


def test_the_bad_week_has_many_more_failures_than_the_others(events: Events) -> None:
    began = events[0]["us"]
    weeks = Counter(
        (e["us"] - began) // (7 * 24 * HOUR_US)
        for e in named(events, "interruption")
        if e["cause"] in ("hardware", "storage")
    )
    assert weeks[1] > 3 * max(weeks[0], weeks[2])


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """Events of ten days with frail nodes and long steps: many failures, few steps."""
    scenario = replace(small(8, days=DAYS, jobs=JOBS, step_s=3600), rates=FRAIL)
    return read_events(made(scenario, tmp_path_factory.mktemp("quiet")))


def test_failures_of_nodes_are_exponential_with_a_rate_per_node(quiet: Events) -> None:
    told = named(quiet, "node_state")
    nodes = len({e["node"] for e in told})
    starts = [e["us"] for e in told if e["state"] == "down"]
    mean_us = FRAIL.node_mtbf_us / nodes
    expected = DAYS * 24 * HOUR_US / mean_us
    assert abs(len(starts) - expected) < 4 * math.sqrt(expected)
    between = [later - now for now, later in pairwise(starts)]
    assert len(between) > 50
    assert kolmogorov(between, lambda us: 1 - math.exp(-us / mean_us)) < 1.95


def test_repairs_take_a_minimum_and_then_an_exponential_time(quiet: Events) -> None:
    down: dict[str, int] = {}
    repairs = []
    for e in named(quiet, "node_state"):
        if e["state"] == "down":
            down[e["node"]] = e["us"]
        elif e["node"] in down:
            repairs.append(e["us"] - down.pop(e["node"]))
    rates = FRAIL
    beyond = [us - rates.repair_min_us for us in repairs]
    assert len(beyond) > 50 and min(beyond) >= 0
    assert kolmogorov(beyond, lambda us: 1 - math.exp(-us / rates.repair_mean_us)) < 1.95


def test_short_jobs_arrive_with_exponential_times_between_them(quiet: Events) -> None:
    arrivals = [
        e["us"] for e in named(quiet, "job_submitted") if e["name"] in ("sweep", "evaluation")
    ]
    mean_us = 24 * HOUR_US / (FRAIL.sweeps_per_job_day * JOBS)
    between = [later - now for now, later in pairwise(arrivals)]
    assert kolmogorov(between, lambda us: 1 - math.exp(-us / mean_us)) < 1.95


def test_launches_on_one_node_are_log_normal(quiet: Events) -> None:
    allocated: dict[tuple[str, int], int] = {}
    launches = []
    for e in named(quiet, "resources_allocated", "process_started"):
        key = (e["job"], e["attempt"])
        if e["event"] == "process_started" and key in allocated:
            launches.append(e["us"] - allocated[key])
        elif e["event"] == "resources_allocated" and len(e["nodes"]) == 1:
            allocated[key] = e["us"]
    assert len(launches) > 300

    def log_normal(us: float) -> float:
        return 0.5 + 0.5 * math.erf(math.log(us / (30 * 10**6)) / (0.4 * math.sqrt(2)))

    assert kolmogorov(launches, log_normal) < 1.95
