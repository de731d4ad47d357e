"""Single models, rows in and rows out: only the tables that a model reads, with a few rows each."""

from typing import Any

import duckdb
import pytest

import sql

HOUR_US = 3_600_000_000
DURATIONS = ", ".join(
    f"{name}_us bigint" for name in ("duration", "data_wait", "straggler", "checkpoint", "overhead")
)


@pytest.fixture
def con():
    """A database in memory with the models' macros and no table."""
    with duckdb.connect() as con:
        con.execute(sql.read("macros"))
        yield con


def table(con: duckdb.DuckDBPyConnection, name: str, columns: str, *rows: tuple[Any, ...]) -> None:
    """Create a table; `columns` as in SQL, one of the names of a row's values."""
    con.execute(f"create table {name} ({columns})")
    if rows:
        con.executemany(f"insert into {name} values ({', '.join('?' * len(rows[0]))})", rows)


def yielded(
    con: duckdb.DuckDBPyConnection, model: str, columns: str = "*", **params: Any
) -> list[tuple[Any, ...]]:
    """The model's rows, sorted."""
    query = f"select {columns} from ({sql.read(model)}) order by all"
    return con.execute(query, params or None).fetchall()


# --- staging/suspensions ---


def suspensions(con: duckdb.DuckDBPyConnection, *changes: tuple[str, int]) -> list[tuple]:
    """Suspensions of a job that reaches to 100."""
    table(
        con,
        "seen_events",
        "job_id integer, event varchar, ts_us bigint",
        *((1, f"job_{name}", ts_us) for name, ts_us in changes),
    )
    table(con, "extents", "job_id integer, until_us bigint", (1, 100))
    return yielded(con, "staging/suspensions", "job_id, start_us, end_us, is_open")


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ([("suspended", 10), ("resumed", 30)], [(1, 10, 30, False)]),
        ([("suspended", 10), ("suspended", 20), ("resumed", 30)], [(1, 10, 30, False)]),
        ([("resumed", 5), ("suspended", 10), ("resumed", 30)], [(1, 10, 30, False)]),
        ([("suspended", 10)], [(1, 10, 100, True)]),
        ([("suspended", 10), ("resumed", 130)], [(1, 10, 130, False)]),
        ([("resumed", 5)], []),
    ],
)
def test_suspensions_pair_the_changes(con, changes: list, rows: list) -> None:
    assert suspensions(con, *changes) == rows


def test_suspensions_of_jobs_are_apart(con) -> None:
    table(
        con,
        "seen_events",
        "job_id integer, event varchar, ts_us bigint",
        (1, "job_suspended", 10),
        (2, "job_resumed", 20),
        (2, "job_suspended", 30),
    )
    table(con, "extents", "job_id integer, until_us bigint", (1, 100), (2, 200))
    assert yielded(con, "staging/suspensions", "job_id, start_us, end_us, is_open") == [
        (1, 10, 100, True),
        (2, 30, 200, True),
    ]


# --- staging/attempts ---


def attempts(
    con: duckdb.DuckDBPyConnection, groups: list[tuple], events: list[tuple] = ()
) -> list[tuple]:
    """Attempts of job 1 by groups (attempt, first ts, last ts, lowest step, highest step)."""
    table(
        con,
        "seen_groups",
        "job_id integer, attempt integer, first_ts_us bigint, last_ts_us bigint, min_step bigint,"
        " max_step bigint, steps bigint",
        *((1, *group, 1) for group in groups),
    )
    table(
        con,
        "seen_events",
        "job_id integer, attempt integer, event varchar, ts_us bigint, cause varchar,"
        " deliberate boolean, record_key varchar",
        *((1, *row, f"key {n}") for n, row in enumerate(events)),
    )
    return yielded(con, "staging/attempts", "attempt, superseded_above, rework_cause, lost_to")


def test_an_attempt_is_the_sum_of_its_groups(con) -> None:
    attempts(con, [(0, 10, 20, 1, 5), (0, 30, 40, 6, 9)])
    columns = "attempt, first_ts_us, last_ts_us, min_step, max_step, steps, rework_cause"
    assert yielded(con, "staging/attempts", columns) == [(0, 10, 40, 1, 9, 2, None)]


def test_attempts_say_what_was_lost_and_why(con) -> None:
    # 0 has steps 1 to 9; 1 repeats from 6 on, so it resumed after 5.
    rows = attempts(
        con,
        [(0, 10, 90, 1, 9), (1, 120, 150, 6, 8)],
        [(0, "interruption", 95, "storage", None), (0, "interruption", 97, "network", None)],
    )
    assert rows == [(0, 5, "storage", "key 0"), (1, None, None, None)]


def test_attempts_are_lost_to_the_lowest_that_any_later_one_resumed_at(con) -> None:
    # 1 resumed after 7 and 2 after 3: of 0 all above 3 is lost, of 1 too.
    rows = attempts(con, [(0, 10, 90, 1, 9), (1, 120, 150, 8, 10), (2, 160, 170, 4, 5)])
    assert rows == [(0, 3, "unknown", None), (1, 3, "unknown", None), (2, None, None, None)]


def test_a_deliberate_load_makes_it_a_rollback_of_no_interruption(con) -> None:
    rows = attempts(
        con,
        [(0, 10, 90, 1, 9), (1, 120, 150, 6, 8)],
        [
            (0, "interruption", 95, "storage", None),
            (1, "checkpoint_loaded", 110, None, True),
        ],
    )
    assert rows[0] == (0, 5, "rollback", None)


# --- staging/boundaries ---


def boundaries(
    con: duckdb.DuckDBPyConnection, events: list[tuple], first_steps: dict[int, int]
) -> list[tuple]:
    """Boundaries of a job with a wall from 100 to 900, in order: (attempt, kind, at_us)."""
    table(
        con,
        "seen_events",
        "job_id integer, attempt integer, event varchar, ts_us bigint, cause varchar,"
        " record_key varchar",
        *((1, *row, f"key {n}") for n, row in enumerate(events)),
    )
    table(
        con,
        "attempts",
        "job_id integer, attempt integer, first_ts_us bigint",
        *((1, attempt, ts_us) for attempt, ts_us in first_steps.items()),
    )
    table(con, "extents", "job_id integer, wall_start_us bigint, until_us bigint", (1, 100, 900))
    rows = yielded(con, "staging/boundaries", "ordinal, attempt, kind, at_us")
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    return [row[1:] for row in rows]


def test_boundaries_are_numbered_in_their_order(con) -> None:
    rows = boundaries(
        con,
        [
            (0, "interruption", 400, "network"),
            (0, "checkpoint_loaded", 300, None),
            (0, "process_started", 200, None),
            (0, "resources_allocated", 100, None),
        ],
        {0: 350},
    )
    assert rows == [
        (-1, "start", 100),
        (0, "resources_allocated", 100),
        (0, "process_started", 200),
        (0, "checkpoint_loaded", 300),
        (0, "first_step", 350),
        (0, "interruption", 400),
    ]


def test_boundaries_are_taken_inside_the_wall_and_late_records_are_none(con) -> None:
    rows = boundaries(
        con,
        [
            (0, "process_started", 50, None),  # before the start: taken at it
            (0, "checkpoint_loaded", 360, None),  # its attempt trains already: none
            (0, "interruption", 700, "network"),  # bounded by attempt 1 at 600
            (1, "resources_allocated", 600, None),
            (1, "interruption", 901, "network"),  # after the end: ignored
        ],
        {0: 350},
    )
    assert rows == [
        (-1, "start", 100),
        (0, "process_started", 100),
        (0, "first_step", 350),
        (0, "interruption", 600),
        (1, "resources_allocated", 600),
    ]


# --- staging/painted_steps ---


def painted(
    con: duckdb.DuckDBPyConnection,
    *steps: tuple[int, int | None, int],
    suspensions: str = "null",
    columns: str = "step, start_us, end_us, painted_us",
    parts: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> list[tuple]:
    """Steps (ts, end before, duration in µs) of a group whose first step ends at 10,000,000."""
    table(
        con,
        "steps",
        f"group_id integer, step bigint, ts_us bigint, before_us bigint, {DURATIONS}",
        *((7, number, *step, *parts) for number, step in enumerate(steps, start=1)),
    )
    con.execute(
        "create table placements as select 7 as group_id, 0::bigint as hour_us,"
        " null::bigint as before_us, 0::bigint as wall_start_us, 10_000_000 as first_ts_us,"
        " 100_000_000::bigint as paint_until_us, null::bigint as seen_until_us,"
        f" {suspensions}::struct(start_us bigint, end_us bigint)[] as suspensions,"
        " 0::bigint as from_us, 100_000_000::bigint as until_us"
    )
    con.execute(
        f"create macro painted_steps(those, placed) as table {sql.read('staging/painted_steps')}"
    )
    found = con.execute(f"select {columns} from painted_steps('steps', 'placements') order by all")
    return found.fetchall()


FIRST = (10_000_000, None, 8_000_000)


def test_painted_steps_leave_the_first_unpainted(con) -> None:
    columns = "step, painted_us, gap_start_us, gap_end_us, is_first"
    assert painted(con, FIRST, columns=columns) == [(1, 0, 0, 10_000_000, True)]


@pytest.mark.parametrize(
    ("step", "span"),
    [
        ((20_000_000, 10_000_000, 6_000_000), (14_000_000, 20_000_000)),
        ((20_000_000, 10_000_000, 12_000_000), (10_000_000, 20_000_000)),
        ((20_000_000, 10_000_000, 9_999_001), (10_000_000, 20_000_000)),
        ((20_000_000, 10_000_000, 9_999_000), (10_001_000, 20_000_000)),
        ((105_000_000, 10_000_000, 8_000_000), (97_000_000, 100_000_000)),
    ],
    ids=["own beginning", "end before", "0.999 ms is none", "1.000 ms is a gap", "end of the wall"],
)
def test_painted_steps_lie_between(con, step: tuple, span: tuple[int, int]) -> None:
    rows = painted(con, FIRST, step)
    assert rows[1] == (2, *span, span[1] - span[0])


@pytest.mark.parametrize(
    ("held", "span"),
    [
        ("[{start_us: 12000000, end_us: 15000000}]", (15_000_000, 20_000_000)),
        ("[{start_us: 16000000, end_us: 30000000}]", (11_000_000, 16_000_000)),
        ("[{start_us: 2000000, end_us: 3000000}]", (11_000_000, 20_000_000)),
    ],
    ids=["one inside", "one at its end", "one before"],
)
def test_painted_steps_are_cut_by_suspensions(con, held: str, span: tuple[int, int]) -> None:
    rows = painted(con, FIRST, (20_000_000, 10_000_000, 9_000_000), suspensions=held)
    assert rows[1][1:3] == span


def test_painted_steps_clip_components_in_order(con) -> None:
    # 10 s painted: 6 loader, 3 straggler, 1 of 2 checkpoint, nothing of overhead, no compute.
    rows = painted(
        con,
        FIRST,
        (20_000_000, 10_000_000, 10_000_000),
        columns="step, loader_us, straggler_us, checkpoint_us, overhead_us, compute_us",
        parts=(6_000_000, 3_000_000, 2_000_000, 4_000_000),
    )
    assert rows[1] == (2, 6_000_000, 3_000_000, 1_000_000, 0, 0)


# --- staging/windows ---


def windows(con: duckdb.DuckDBPyConnection, *maintenance: tuple) -> list[tuple]:
    """Windows at as_of 500 s; job a (1) of no cluster holds n1, from 200 s n2; b (2) is in east."""
    columns = (
        "job_id integer, record_key varchar, event varchar, ts_us bigint, id varchar,"
        " cluster varchar, attempt integer, jobs varchar[], nodes varchar[]"
    )
    allocations = [
        (1, "a0", "resources_allocated", 0, None, None, 0, None, ["n1"]),
        (1, "a1", "resources_allocated", 200_000_000, None, None, 1, None, ["n2"]),
    ]
    given = [(None, f"w{n}", *row[:4], None, *row[4:]) for n, row in enumerate(maintenance)]
    table(con, "events", columns, *allocations, *given)
    con.execute("create view seen_events as from events where job_id is not null")
    table(con, "jobs", "job_id integer, job varchar", (1, "a"), (2, "b"))
    table(con, "walls", "job_id integer, cluster varchar", (1, None), (2, "east"))
    table(con, "clock", "as_of_us bigint", (500_000_000,))
    return yielded(con, "staging/windows", "job_id, start_us // 1_000_000, end_us // 1_000_000")


BEGIN = ("maintenance_started", 100_000_000, "m")
END = ("maintenance_ended", 300_000_000, "m")


@pytest.mark.parametrize(
    ("cluster", "jobs", "nodes", "rows"),
    [
        (None, ["b"], None, [(2, 100, 300)]),
        (None, None, ["n1"], [(1, 100, 200)]),
        (None, None, ["n2"], [(1, 200, 300)]),
        (None, None, ["n3"], []),
        (None, ["b"], ["n1"], [(1, 100, 200), (2, 100, 300)]),
        (None, None, None, [(1, 100, 300)]),
        ("east", None, None, [(2, 100, 300)]),
    ],
)
def test_windows_affect(con, cluster, jobs, nodes, rows: list[tuple]) -> None:
    assert windows(con, (*BEGIN, cluster, jobs, nodes), (*END, cluster, None, None)) == rows


def test_windows_without_an_end_last_to_as_of(con) -> None:
    assert windows(con, (*BEGIN, None, ["a"], None)) == [(1, 100, 500)]


# --- staging/relabelled, staging/label_changes ---


MINUTE_US = 60_000_000


def put_labels(con: duckdb.DuckDBPyConnection, stored: list[tuple], fresh: list[tuple]) -> None:
    """Labels of job 1 as (start in minutes, category; None: outside the wall)."""
    columns = (
        "job_id integer, start_us bigint, span integer, category varchar, component varchar,"
        " cause varchar"
    )
    for name, rows in (("labels", stored), ("given_labels", fresh)):
        labels = (
            (1, minute * MINUTE_US, None, category, category and "c", category and "")
            for minute, category in rows
        )
        table(con, name, columns, *labels)
    con.execute(
        "create table fresh_labels as"
        " select *, lead(start_us) over (order by start_us) as end_us from given_labels"
    )
    table(con, "work_jobs", "job_id integer", (1,))


def relabelled(
    con: duckdb.DuckDBPyConnection, stored: list[tuple], fresh: list[tuple]
) -> list[int]:
    """The minute from which job 1 is labelled anew, if it is."""
    put_labels(con, stored, fresh)
    return [from_us // MINUTE_US for _, from_us in yielded(con, "staging/relabelled")]


@pytest.mark.parametrize(
    ("stored", "fresh", "minutes"),
    [
        pytest.param([], [], [], id="no label"),
        pytest.param([], [(30, "startup"), (150, None)], [30], id="a new job"),
        pytest.param([(30, "startup"), (150, None)], [], [30], id="a job that is gone"),
        pytest.param(
            [(30, "startup"), (150, None)], [(30, "startup"), (150, None)], [], id="no change"
        ),
        pytest.param(
            [(30, "startup"), (150, None)],
            [(30, "startup"), (150, None), (200, "x")],
            [200],
            id="more of them",
        ),
        pytest.param(
            [(30, "startup"), (150, None)], [(30, "startup"), (200, None)], [150], id="longer"
        ),
        pytest.param(
            [(30, "startup"), (90, "x"), (150, None)],
            [(30, "startup"), (150, None)],
            [90],
            id="one that is gone",
        ),
        pytest.param(
            [(30, "startup"), (150, None)],
            [(10, None), (30, "startup"), (150, None)],
            [10],
            id="time outside the wall before the first",
        ),
    ],
)
def test_a_job_is_labelled_anew_from_the_first_label_that_differs(
    con, stored, fresh, minutes: list[int]
) -> None:
    assert relabelled(con, stored, fresh) == minutes


def label_changes(
    con: duckdb.DuckDBPyConnection, stored: list[tuple], fresh: list[tuple]
) -> list[int]:
    """Changed hours of job 1."""
    put_labels(con, stored, fresh)
    con.execute(f"create table relabelled as {sql.read('staging/relabelled')}")
    return [hour_us // HOUR_US for _, hour_us in yielded(con, "staging/label_changes")]


@pytest.mark.parametrize(
    ("stored", "fresh", "hours"),
    [
        pytest.param([], [(30, "startup"), (150, None)], [0, 1, 2], id="a new job"),
        pytest.param([(30, "startup"), (150, None)], [], [0, 1, 2], id="a job that is gone"),
        pytest.param(
            [(30, "startup"), (150, None)], [(30, "startup"), (150, None)], [], id="no change"
        ),
        pytest.param(
            [(30, "startup"), (150, None)], [(30, "startup"), (200, None)], [2, 3], id="longer"
        ),
        pytest.param(
            [(0, "startup"), (60, "x"), (120, "y"), (180, None)],
            [(0, "startup"), (60, "z"), (120, "y"), (180, None)],
            [1],
            id="one hour in between",
        ),
        pytest.param(
            [(0, "x"), (60, "y"), (120, None)],
            [(0, "x"), (50, "y"), (120, None)],
            [0],
            id="a limit that moved",
        ),
        pytest.param(
            [(0, "x"), (130, "y"), (150, None)],
            [(0, "x"), (150, None)],
            [2],
            id="the label before goes on",
        ),
        pytest.param(
            [(0, "x"), (200, None)],
            [(0, "x"), (130, "y"), (150, "x"), (200, None)],
            [2],
            id="one inside another",
        ),
    ],
)
def test_label_changes_are_the_hours_that_differ(con, stored, fresh, hours: list[int]) -> None:
    assert label_changes(con, stored, fresh) == hours


# --- ingest/expanded_steps ---


def expanded(con: duckdb.DuckDBPyConnection, *records: tuple) -> list[tuple]:
    """Steps of records (step, ts, duration, loader, straggler, stands for, reason)."""
    table(
        con,
        "judged_steps",
        "job varchar, attempt integer, step bigint, ts_us bigint, duration_us bigint,"
        " data_wait_us bigint, straggler_us bigint, checkpoint_us bigint, overhead_us bigint,"
        " straggler_node varchar, stands_for bigint, reason varchar, line bigint",
        *(("j", 0, *record[:5], 0, 0, None, *record[5:], None) for record in records),
    )
    columns = "step, ts_us, duration_us, data_wait_us, straggler_us"
    return yielded(con, "ingest/expanded_steps", columns)


def test_a_record_of_one_step_stays_as_it_is(con) -> None:
    assert expanded(con, (4, 1000, 103, 7, 2, 1, None)) == [(4, 1000, 103, 7, 2)]


def test_a_record_of_n_steps_becomes_n_with_the_remainder_in_the_last(con) -> None:
    # 103 = 4 × 25 + 3, 7 = 4 × 1 + 3, 2 = 4 × 0 + 2. It began at 897.
    assert expanded(con, (4, 1000, 103, 7, 2, 4, None)) == [
        (1, 922, 25, 1, 0),
        (2, 947, 25, 1, 0),
        (3, 972, 25, 1, 0),
        (4, 1000, 28, 4, 2),
    ]


def test_a_bad_record_becomes_none(con) -> None:
    assert expanded(con, (4, 1000, 103, 7, 2, 4, "bad field ts")) == []


# --- ingest/ranked_steps ---


def ranked(con: duckdb.DuckDBPyConnection, *records: tuple) -> list[tuple]:
    """Verdicts on records (step, ts, duration, node, stored)."""
    table(
        con,
        "step_records",
        "job_id integer, attempt integer, data_wait_us bigint, straggler_us bigint,"
        " checkpoint_us bigint, overhead_us bigint, step bigint, ts_us bigint, duration_us bigint,"
        " straggler_node varchar, file_id integer",
        *((1, 0, 0, 0, 0, 0, *record, 1 if stored else None) for *record, stored in records),
    )
    columns = "step, ts_us, duration_us, stored, verdict"
    return yielded(con, "ingest/ranked_steps", columns, file_id=2)


def test_the_smallest_of_a_steps_records_stands_though_another_was_stored(con) -> None:
    assert ranked(con, (1, 100, 10, None, True), (1, 99, 20, None, False)) == [
        (1, 99, 20, False, "stands"),
        (1, 100, 10, True, "conflict"),
    ]


def test_equal_records_are_duplicates_of_the_stored_one(con) -> None:
    assert ranked(con, (1, 100, 10, "n", False), (1, 100, 10, "n", True)) == [
        (1, 100, 10, False, "duplicate"),
        (1, 100, 10, True, "stands"),
    ]


def test_records_of_other_steps_are_no_rivals(con) -> None:
    assert [row[-1] for row in ranked(con, (1, 9, 1, None, True), (2, 8, 1, None, False))] == [
        "stands",
        "stands",
    ]


def test_a_step_without_a_node_is_smaller_than_one_with(con) -> None:
    assert ranked(con, (1, 100, 10, "n", False), (1, 100, 10, None, False))[0][-1] == "conflict"
    rows = yielded(con, "ingest/ranked_steps", "straggler_node, file_id, verdict", file_id=2)
    assert rows == [("n", 2, "conflict"), (None, 2, "stands")]


# --- ingest/placed_steps, ingest/settled_steps ---


def test_placed_steps_know_the_end_before_them_in_their_hour_and_whether_they_ascend(con) -> None:
    # By ts, attempt and step; the hours of a job, and jobs, are apart.
    table(
        con,
        "step_records",
        "job_id integer, attempt integer, step bigint, ts_us bigint, file_id integer",
        (1, 0, 2, 20, None),
        (1, 0, 1, 10, 7),
        (1, 1, 1, 20, None),
        (1, 1, 1, 30, None),
        (1, 0, 9, 40, None),
        (1, 0, 3, HOUR_US + 5, None),
        (1, 0, 2, HOUR_US + 6, None),
        (3, 0, 1, 15, None),
    )
    columns = "job_id, ts_us, attempt, step, before_us, ascends, file_id"
    params = {"file_id": 8, "standing": "step_records"}
    assert yielded(con, "ingest/placed_steps", columns, **params) == [
        (1, 10, 0, 1, None, True, 7),
        (1, 20, 0, 2, 10, True, 8),
        (1, 20, 1, 1, 20, True, 8),
        (1, 30, 1, 1, 20, False, 8),
        (1, 40, 0, 9, 30, False, 8),
        (1, HOUR_US + 5, 0, 3, None, True, 8),
        (1, HOUR_US + 6, 0, 2, HOUR_US + 5, False, 8),
        (3, 15, 0, 1, None, True, 8),
    ]


@pytest.mark.parametrize(
    ("step", "settled"),
    [
        ((30_000_000, 8_000_000, 1, 2, 3, 4), (7_999_990, 2_000_000)),
        ((30_000_000, 12_000_000, 1, 2, 3, 4), (9_999_990, 0)),
        ((30_000_000, 9_999_001, 0, 0, 0, 0), (10_000_000, 0)),
        ((30_000_000, 9_999_000, 0, 0, 0, 0), (9_999_000, 1_000)),
        ((30_000_000, 10_000_000, 10_000_000, 0, 0, 0), (0, 0)),
        ((30_000_000, 10_000_000, 10_000_000, 0, 0, 1), (None, None)),
        ((20_000_000, 5_000_000, 0, 0, 0, 0), (0, 0)),
    ],
    ids=["gap", "overlap", "0.999 ms", "1.000 ms", "no compute", "over-reported", "same end"],
)
def test_a_step_is_settled_where_it_holds_its_components(con, step, settled) -> None:
    # The step before it in its hour ends at 20 s; that one itself has none before it.
    table(
        con,
        "placed",
        f"step bigint, before_us bigint, ascends boolean, ts_us bigint, {DURATIONS}",
        (1, None, True, 20_000_000, 1_000_000, 0, 0, 0, 0),
        (2, 20_000_000, True, *step),
    )
    assert yielded(con, "ingest/settled_steps", "step, compute_us, gap_us") == [
        (1, None, None),
        (2, *settled),
    ]


# --- staging/picked_steps ---


@pytest.mark.parametrize(
    ("context", "step", "picked"),
    [
        ((True, None, None, None), (7, 100, 50), False),
        ((True, 90, 7, 25), (7, 100, 50), False),
        ((False, None, None, None), (7, 100, 50), True),
        ((True, None, None, None), (7, 100, None), True),
        ((True, 100, None, None), (7, 100, 50), True),
        ((True, 100, 7, 25), (7, 90, 50), False),
        ((True, None, 7, None), (8, 100, 50), True),
        ((True, None, 7, None), (8, 100, None), True),
        ((True, 90, 7, 25), (7, 100, 51), True),
        ((True, None, None, 25), (7, 100, 51), True),
        ((True, None, None, 25), (7, 100, 50), False),
        ((True, None, None, 25), (7, 100, None), True),
    ],
)
def test_a_step_is_picked_where_its_group_does_not_tell(con, context, step, picked: bool) -> None:
    con.execute("set variable least_slow_us = 50")
    table(
        con,
        "dirty_contexts",
        "group_id integer, is_plain boolean, first_ts_us bigint, superseded_above bigint,"
        " baseline_us bigint",
        (1, *context),
    )
    table(
        con,
        "steps",
        "group_id integer, step bigint, ts_us bigint, compute_us bigint, before_us bigint,"
        f" straggler_node varchar, {DURATIONS}",
        (1, *step, 0, None, 0, 0, 0, 0, 0),
    )
    assert bool(yielded(con, "staging/picked_steps", "step")) is picked
