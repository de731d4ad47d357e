"""The capacity ledger: what each rule at the heads of sql/capacity/ says, a case a rule.

Amounts are GPU-seconds. A clock node of one GPU moves as_of; it is left out of what is compared.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import harness
import pytest
from build import (
    BASE_US,
    DAY,
    HOUR,
    Record,
    allocated,
    at,
    ended,
    event,
    interrupted,
    steps,
    submitted,
    suspended,
)

Spent = dict[str, float]
Derived = Callable[..., Spent]


def node(when: float, state: str, name: str = "n1", gpus: int = 8, **fields: Any) -> Record:
    """From then on the node is in that state."""
    return event("node_state", when, None, node=name, gpus=gpus, state=state, **fields)


def until(when: float) -> Record:
    """A record that makes that moment as_of."""
    return event("change_ended", when, None, id="c", change="security")


@pytest.fixture
def capacity(warehouse: duckdb.DuckDBPyConnection, tmp_path: Path) -> Derived:
    """Deliver and refresh; GPU-seconds by `category component`. A rebuild gives the same."""

    def run(*lifecycle: Record, steps: list[Record] | None = None) -> Spent:
        harness.deliver(warehouse, tmp_path, list(lifecycle), steps or [])
        harness.rederive(warehouse)
        found = harness.capacity(warehouse)
        harness.rederive(warehouse, rebuild=True)
        assert harness.capacity(warehouse) == found
        return spent(warehouse)

    return run


def spent(con: duckdb.DuckDBPyConnection) -> Spent:
    rows = con.execute(
        "select category || ' ' || component, sum(gpu_us) from capacity group by all"
    ).fetchall()
    return {name: gpu_us / 1e6 for name, gpu_us in rows}


def test_a_nodes_time_is_its_states_time_from_its_first_record_on(capacity: Derived) -> None:
    found = capacity(node(100, "idle"), node(160, "warm_pool"), until(200))
    assert found == {"idle node": 60 * 8, "warm_pool node": 40 * 8}


def test_a_silent_node_stays_as_it_was_last_said_to_be(capacity: Derived) -> None:
    # A drain of 43 days: the node says nothing more.
    assert capacity(node(0, "draining"), until(43 * DAY)) == {"draining node": 43 * DAY * 8}


def test_a_state_that_is_said_again_changes_nothing(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    once = capacity(node(0, "idle"), node(50, "down"), until(100))
    again = capacity(node(20, "idle"), node(70, "down"), node(100, "down"))
    assert again == once == {"idle node": 400, "down node": 400}
    assert warehouse.execute("select count(*) from node_points").fetchall() == [(2,)]


def test_a_flap_of_16_ms_is_16_ms(capacity: Derived) -> None:
    found = capacity(node(0, "idle"), node(10, "down"), node(10.016, "idle"), until(20))
    assert found == {"idle node": (20 - 0.016) * 8, "down node": 0.016 * 8}


def test_of_several_states_at_one_moment_the_one_that_leaves_the_least_counts(
    capacity: Derived,
) -> None:
    found = capacity(node(0, "idle"), node(0, "maintenance"), node(0, "allocated"), until(10))
    assert found == {"maintenance node": 80}


def test_a_record_of_a_set_of_nodes_is_one_of_each(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    found = capacity(
        node(0, "idle", "8,13,26-27"),
        node(0, "idle", "n[01-03,7]"),
        node(5, "down", "26"),
        until(10),
    )
    assert found == {"idle node": 7 * 80 + 40, "down node": 40}
    names = warehouse.execute("select distinct node from node_points order by 1").fetchall()
    assert [name for (name,) in names] == ["13", "26", "27", "8", "n01", "n02", "n03", "n7"]


@pytest.mark.parametrize("odd", ["27-26", "1-999999999", "n[x]", "[", "gpu-01", "a[1-2][3-4]"])
def test_what_makes_no_sense_as_a_set_is_a_name(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection, odd: str
) -> None:
    assert capacity(node(0, "idle", odd), until(10)) == {"idle node": 80}
    assert warehouse.execute("select node from node_points").fetchall() == [(odd,)]


def test_a_node_that_gets_or_loses_gpus_counts_with_those_it_has(capacity: Derived) -> None:
    # A node that is taken out is said to have none.
    found = capacity(node(0, "idle"), node(10, "idle", gpus=4), node(20, "idle", gpus=0), until(99))
    assert found == {"idle node": 80 + 40}


def test_nodes_of_one_name_in_two_clusters_are_two(capacity: Derived) -> None:
    found = capacity(node(0, "idle", cluster="east"), node(0, "down", cluster="west"), until(10))
    assert found == {"idle node": 80, "down node": 80}


def test_what_a_job_does_with_gpus_that_it_holds_is_what_its_ledger_says(
    capacity: Derived,
) -> None:
    # Launch 10 s (to the end of step 1, which is not painted), four steps of 10 s, requeue 50 s.
    found = capacity(
        node(0, "allocated"),
        submitted(0, tenant="nlp"),
        allocated(0, nodes=["n1"], gpus=8),
        interrupted(50),
        until(100),
        steps=steps(0, 1, 5),
    )
    # While it is requeued nobody holds the node, whatever the node says.
    assert found == {
        "startup launch": 80,
        "useful step": 4 * 80,
        "allocated no_record": 50 * 8,
    }


def test_a_suspended_job_leaves_its_gpus_without_a_record(capacity: Derived) -> None:
    found = capacity(
        node(0, "allocated"),
        allocated(0, nodes=["n1"], gpus=8),
        suspended(50),
        until(60),
        steps=steps(0, 1, 5),
    )
    assert found["allocated no_record"] == 80


def test_a_job_with_fewer_gpus_than_its_node_leaves_the_rest_without_a_record(
    capacity: Derived,
) -> None:
    found = capacity(node(0, "allocated"), allocated(0, nodes=["n1"], gpus=2), until(10))
    assert found == {"uninstrumented run": 20, "allocated no_record": 60}


def test_gpus_that_do_not_divide_by_the_nodes_lie_on_the_first_by_name(capacity: Derived) -> None:
    # 5 GPUs on n1 and n2: 3 and 2; n2 has only one.
    found = capacity(
        node(0, "allocated", gpus=3),
        node(0, "allocated", "n2", gpus=1),
        allocated(0, nodes=["n2", "n1"], gpus=5),
        until(10),
    )
    assert found == {"uninstrumented run": 30 + 10}


def test_a_node_given_away_is_no_longer_held_by_whoever_had_it(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    # Nobody recorded that j stopped; k got its node at 40.
    capacity(
        node(0, "allocated"),
        event("job_submitted", 0, "j", tier="batch", tenant="j's"),
        event("job_submitted", 0, "k", tier="batch", tenant="k's"),
        event("resources_allocated", 0, "j", attempt=0, nodes=["n1"], gpus=8),
        event("resources_allocated", 40, "k", attempt=0, nodes=["n1"], gpus=8),
        until(100),
    )
    rows = warehouse.execute("select tenant, sum(gpu_us) / 1e6 from capacity group by all")
    assert dict(rows.fetchall()) == {"j's": 40 * 8, "k's": 60 * 8}


def test_a_job_whose_gpus_nobody_names_holds_whole_nodes(capacity: Derived) -> None:
    found = capacity(node(0, "allocated"), allocated(0, nodes=["n1"]), until(10))
    assert found == {"uninstrumented run": 80}


def test_a_job_whose_allocation_names_no_nodes_has_what_is_allocated_without_a_record(
    capacity: Derived,
) -> None:
    found = capacity(node(0, "allocated"), node(0, "idle", "n2"), allocated(0, gpus=6), until(10))
    assert found == {"uninstrumented run": 60, "allocated no_record": 20, "idle node": 80}


def test_it_has_no_more_than_there_is(capacity: Derived) -> None:
    found = capacity(node(0, "allocated"), allocated(0, gpus=512), until(10))
    assert found == {"uninstrumented run": 80}


@pytest.mark.parametrize("state", ["down", "maintenance", "power_capped", "idle", "gang_reserved"])
def test_a_state_in_which_no_job_can_hold_gpus_decides(capacity: Derived, state: str) -> None:
    # The node fails at 40, which is noticed at 60: no job works on a node that is down.
    found = capacity(
        node(0, "allocated"),
        node(40, state),
        allocated(0, nodes=["n1"], gpus=8),
        interrupted(60),
        until(60),
    )
    assert found == {"uninstrumented run": 40 * 8, f"{state} node": 20 * 8}


@pytest.mark.parametrize("state", ["draining", "backfill"])
def test_lent_and_draining_nodes_say_what_the_job_on_them_does(
    capacity: Derived, state: str
) -> None:
    found = capacity(
        node(0, state),
        allocated(0, nodes=["n1"], gpus=8),
        ended(50),
        until(70),
        steps=steps(0, 1, 5),
    )
    assert found == {f"{state} startup": 80, f"{state} useful": 320, f"{state} node": 160}


def test_a_job_with_other_gpus_in_a_part_of_an_hour_shares_out_what_it_held(
    capacity: Derived,
) -> None:
    # n1 falls out at 30: 8 + 8 GPUs for 30 s, 8 for 20 s are 640 GPU-s. The ledger has 10 s of
    # launch and 40 s of steps.
    found = capacity(
        node(0, "allocated"),
        node(0, "allocated", "n2"),
        node(30, "down"),
        allocated(0, nodes=["n1", "n2"], gpus=16),
        ended(50),
        until(50),
        steps=steps(0, 1, 5),
    )
    assert found == {"startup launch": 128, "useful step": 512, "down node": 160}


def test_whole_microseconds_go_to_the_largest_remainders(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    # 7 µs of launch, 10 s of the rest: 1 µs with one GPU more does not divide.
    capacity(
        node(0, "allocated", gpus=1),
        node(0, "allocated", "n2", gpus=1),
        node(0.000001, "down", "n2", gpus=1),
        allocated(0, nodes=["n1", "n2"], gpus=2),
        event("process_started", 0.000007, attempt=0),
        ended(10),
        until(10),
        steps=steps(0, 1, 1),
    )
    rows = dict(
        warehouse.execute(
            "select component, gpu_us from capacity where category = 'startup'"
        ).fetchall()
    )
    # 10,000,001 × 7 / 10,000,000 = 7.0000007 and 9,999,993.9…: the second gets the microsecond.
    assert rows == {"launch": 7, "load": 9_999_994}


def test_a_node_that_jobs_hold_before_any_state_is_known_counts_in_those_hours(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    # Held 00:10 to 00:20; its first state is said at 02:00. Of hour 0 it is known that it exists.
    found = capacity(
        allocated(600, nodes=["n1"], gpus=8),
        ended(1200),
        node(2 * HOUR, "idle"),
        until(3 * HOUR),
    )
    assert found == {
        "uninstrumented run": 600 * 8,
        "unknown node": 3000 * 8,
        "idle node": HOUR * 8,
    }
    hours = warehouse.execute("select distinct hour_us from capacity order by 1").fetchall()
    assert [(us - BASE_US) // (HOUR * 10**6) for (us,) in hours] == [0, 2]


# Stranded -----------------------------------------------------------------------------------------


def test_idle_gpus_are_stranded_while_a_job_that_fits_waits(capacity: Derived) -> None:
    found = capacity(
        node(0, "idle"), submitted(10, gpus=8), allocated(40, gpus=8, nodes=["n2"]), until(50)
    )
    assert found["stranded node"] == 30 * 8
    assert found["idle node"] == 20 * 8


def test_a_job_that_does_not_fit_strands_nothing(capacity: Derived) -> None:
    assert capacity(node(0, "idle"), submitted(0, gpus=9), until(10)) == {"idle node": 80}


def test_a_job_whose_gpus_nobody_names_strands_nothing(capacity: Derived) -> None:
    assert capacity(node(0, "idle"), submitted(0), until(10)) == {"idle node": 80}


def test_no_more_is_stranded_than_the_jobs_that_fit_need(capacity: Derived) -> None:
    found = capacity(node(0, "idle"), submitted(0, gpus=2), until(10))
    assert found == {"stranded node": 20, "idle node": 60}


@pytest.mark.parametrize("reason", ["user_hold", "dependency"])
def test_a_job_that_its_owner_holds_back_does_not_wait_for_gpus(
    capacity: Derived, reason: str
) -> None:
    found = capacity(
        node(0, "idle"),
        submitted(0, gpus=8),
        event("job_pending", 0, reason=reason),
        event("job_pending", 30, reason="priority"),
        until(50),
    )
    assert found == {"idle node": 30 * 8, "stranded node": 20 * 8}


def test_a_job_that_is_requeued_waits_too(capacity: Derived) -> None:
    found = capacity(
        node(0, "allocated"),
        node(20, "idle"),
        submitted(0, gpus=8),
        allocated(0, nodes=["n1"], gpus=8),
        interrupted(20),
        until(50),
    )
    assert found == {"uninstrumented run": 20 * 8, "stranded node": 30 * 8}


def test_a_job_of_another_cluster_strands_nothing(capacity: Derived) -> None:
    found = capacity(
        node(0, "idle", cluster="east"), submitted(0, gpus=8, cluster="west"), until(10)
    )
    assert found == {"idle node": 80}


# Refreshing ---------------------------------------------------------------------------------------


def work_hours(con: duckdb.DuckDBPyConnection) -> list[int]:
    rows = con.execute("select hour_us from work_hours order by 1").fetchall()
    return [(hour_us - BASE_US) // (HOUR * 10**6) for (hour_us,) in rows]


def test_a_refresh_derives_only_the_hours_that_new_records_touch(
    warehouse: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    def by(*lifecycle: Record) -> list[int]:
        harness.deliver(warehouse, tmp_path, list(lifecycle), [])
        harness.rederive(warehouse)
        return work_hours(warehouse)

    both = [node(0, "idle"), node(0, "idle", "n2"), until(500 * HOUR)]
    assert len(by(*both)) == 500
    assert by(node(500 * HOUR + 60, "down")) == [500]
    # A repair that is told late: down from 300:30 to 301:10.
    assert by(node(300.5 * HOUR, "down"), node(301 * HOUR + 600, "idle")) == [300, 301, 500]
    # What says nothing new touches nothing but the hour that is not over.
    assert by(node(200 * HOUR, "idle")) == [500]


def test_an_as_of_that_goes_back_forgets_the_hours_after_it(
    warehouse: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    harness.deliver(warehouse, tmp_path, [node(0, "idle"), node(HOUR, "down"), until(9 * HOUR)], [])
    harness.rederive(warehouse)
    harness.rederive(warehouse, at(1800))
    assert spent(warehouse) == {"idle node": 1800 * 8}
    harness.rederive(warehouse)
    assert spent(warehouse) == {"idle node": HOUR * 8, "down node": 8 * HOUR * 8}


def test_nodes_heard_of_after_all_else_count_from_their_first_record_on(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    assert capacity(allocated(600, gpus=8), ended(1200), until(90 * 60)) == {}
    # Job b names a node of which no state is known; then another one is said to be idle.
    held = {"uninstrumented run": 600 * 8, "unknown node": 3000 * 8}
    other = event("resources_allocated", 600, "b", attempt=0, nodes=["n1"], gpus=8)
    assert capacity(other, event("job_ended", 1200, "b", outcome="completed")) == held
    found = capacity(node(HOUR, "idle", "n2"))
    assert found == held | {"idle node": 30 * 60 * 8}
    found = capacity(node(2 * HOUR, "idle"), until(3 * HOUR))
    assert found == held | {"idle node": 3 * HOUR * 8}
    # And as at 01:30 the first node was idle nowhere yet.
    harness.rederive(warehouse, at(90 * 60))
    assert spent(warehouse) == held | {"idle node": 30 * 60 * 8}


def taken(when: float, job: str, *nodes: str, gpus: int | None = None) -> Record:
    """A job gets nodes, and says how many GPUs it needs of them or does not."""
    return event("resources_allocated", when, job, attempt=0, nodes=list(nodes), gpus=gpus)


def holds(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, int]]:
    """What the last refresh spread over nodes: job, node, GPUs."""
    return con.execute(
        "select job, node, gpus from node_holds join jobs using (job_id) order by all"
    ).fetchall()


def test_nodes_whose_gpus_nobody_tells_are_not_spread_over_however_many_jobs_share_them(
    capacity: Derived, warehouse: duckdb.DuckDBPyConnection
) -> None:
    shared = [taken(10 + number, f"cpu-{number}", "c1") for number in range(5)]
    found = capacity(*shared, taken(20, "one", "g1", "g2", gpus=2), until(100))
    # Each of two nodes is as large in that hour as what the job that names its GPUs holds of it.
    assert found == {"unknown node": 2 * 20, "uninstrumented run": 2 * 80}
    assert holds(warehouse) == [("one", "g1", 1), ("one", "g2", 1)]


def test_a_job_that_names_no_gpus_still_holds_a_node_of_which_another_tells_them(
    capacity: Derived,
) -> None:
    found = capacity(
        taken(10, "known", "g1", gpus=4),
        taken(60, "vague", "g1"),
        event("process_started", 80, "vague", attempt=0),
        until(100),
    )
    # Whoever got g1 last has it whole: 4 GPUs from 60 s on.
    assert found == {
        "unknown node": 4 * 10,
        "uninstrumented run": 4 * 50 + 4 * 20,
        "startup launch": 4 * 20,
    }
