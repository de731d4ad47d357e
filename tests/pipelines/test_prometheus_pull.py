"""Pulling from a real Prometheus; what it holds stands in tests/cluster_metrics.py."""

import json
import math
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import cluster_metrics
import dagster as dg
import duckdb
import harness
import pytest
import services
from cluster_metrics import MINUTE_US, MINUTES, SECRET_POD
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from searching import places_of
from typer.testing import CliRunner

from answers.clock import now_us
from answers.home import Home
from answers.mart import open_mart
from metrics.collecting import Prometheus, SampleQuery, StateQuery
from metrics.errors import HeadwayError, PrometheusUnavailable, UsageError
from metrics.policy import DEFAULT_POLICY_FILE, read_policy
from pipelines.cli import app
from pipelines.defs.prometheus import hourly_pull
from pipelines.prometheus import pulling
from pipelines.prometheus.asking import Series, Server
from pipelines.prometheus.cleaning import Clean, Counts, Grid, clean, combined
from pipelines.prometheus.node_states import Answer, NodeState, changes
from pipelines.prometheus.pulling import Pulled, pull

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="Prometheus is not installed (the Debian package prometheus)",
)
B_S = cluster_metrics.beginning_s()
B_US = B_S * 10**6
END_US = B_US + MINUTES * MINUTE_US
WHOLE = Prometheus(cluster="west", chunk_s=2 * 3600)
"""The policy's own queries, the two hours in one chunk."""

STATES = [
    (0, "node-a", "idle"),
    (0, "node-b", "idle"),
    (10, "node-a", "allocated"),
    (30, "node-a", "power_capped"),
    (32, "node-a", "allocated"),
    (60, "node-b", "down"),
    (70, "node-b", "idle"),
    (80, "node-a", "draining"),
    (90, "node-a", "allocated"),
    (100, "node-a", "idle"),
]
"""By minute, as the scenario says."""


def clock(now_s: float) -> str:
    """What Prometheus answers who asks it for the time."""
    told = [{"metric": {}, "value": [now_s, str(now_s)]}]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": told}})


class Exporter(BaseHTTPRequestHandler):
    """Serves the text that the server holds, as a scrape target or as a false Prometheus."""

    server: "AnsweringServer"

    def do_GET(self) -> None:
        server = self.server
        if self.path.startswith("/api/v1/query?"):
            status, text = 200, clock(server.clock_s or now_us() / 10**6)
        else:
            server.seen.append(self.headers.get("Authorization"))
            status, text = server.answers[0]
            if len(server.answers) > 1:
                server.answers.pop(0)
        self.send_response(status)
        for name, said in server.headers.items():
            self.send_header(name, said)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class AnsweringServer(ThreadingHTTPServer):
    """Gives these answers in turn, the last one for ever, and keeps the credentials it saw."""

    def __init__(self, answers: Iterable[tuple[int, str]]) -> None:
        super().__init__(("127.0.0.1", 0), Exporter)
        self.answers = list(answers)
        self.seen: list[str | None] = []
        self.clock_s: float | None = None
        self.headers: dict[str, str] = {}


@contextmanager
def answering(*answers: tuple[int, str]) -> Iterator[AnsweringServer]:
    """A server that gives these answers in turn, the last one for ever."""
    server = AnsweringServer(answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def address_of(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture(scope="module")
def exporter() -> Iterator[AnsweringServer]:
    with answering((200, "live_number 1\nended_number 1\n")) as server:
        yield server


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, exporter: AnsweringServer) -> Iterator[str]:
    target = address_of(exporter).removeprefix("http://")
    with cluster_metrics.prometheus(tmp_path_factory.mktemp("prom"), B_S, target) as address:
        yield address


def pulled_all(
    con: duckdb.DuckDBPyConnection, url: str, policy: Prometheus = WHOLE, until_us: int = END_US
) -> dict[str, Counts]:
    """Pull the two hours; what became of each query, where it came in one chunk."""
    done = pull(con, policy, url, Path(), B_US, until_us)
    return {pulled.query: pulled.counts for pulled in done}


def states(con: duckdb.DuckDBPyConnection) -> list[tuple[int, str, str]]:
    rows = con.execute(
        "select (ts_us - ?) / 60000000, node, state from events order by ts_us, node", [B_US]
    ).fetchall()
    return [(int(minute), node, state) for minute, node, state in rows]


def samples(con: duckdb.DuckDBPyConnection, query: str) -> dict[int, float]:
    """The samples of a query that keeps one series, by minute."""
    rows = con.execute(
        "select (ts_us - ?) / 60000000, value from samples join series using (series_id)"
        " where query = ? order by ts_us",
        [B_US, query],
    ).fetchall()
    assert len(dict(rows)) == len(rows)
    return {int(minute): value for minute, value in rows}


def everything(con: duckdb.DuckDBPyConnection) -> list[Any]:
    """All that numbers depend on: not how it was cut into chunks."""
    return [
        con.execute(
            "select event, ts_us, cluster, node, gpus, state from events order by all"
        ).fetchall(),
        con.execute(
            "select query, labels, ts_us, value from samples join series using (series_id)"
            " order by all"
        ).fetchall(),
        con.execute("from pulled_nodes order by all").fetchall(),
    ]


# --- the real server ------------------------------------------------------------------------------


@needs_prometheus
def test_a_change_of_a_node_is_one_record_and_what_repeats_is_none(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    counts = pulled_all(con, url)["node_states"]
    assert states(con) == STATES
    assert counts.records == len(STATES)
    assert con.execute("select distinct gpus, cluster from events").fetchall() == [(2, "west")]


@needs_prometheus
def test_a_gap_is_no_state_and_is_counted(url: str, con: duckdb.DuckDBPyConnection) -> None:
    counts = pulled_all(con, url)["node_states"]
    assert (counts.gaps, counts.gap_s) == (1, 5 * 60)
    assert counts.used == 2 * MINUTES - 5
    assert not [minute for minute, _, _ in states(con) if 50 <= minute < 55]


@needs_prometheus
def test_a_counter_that_began_anew_caps_no_node_and_is_counted(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    # Both GPUs of node-a.
    assert pulled_all(con, url)["node_states"].counter_resets == 2
    assert [minute for minute, _, state in states(con) if state == "power_capped"] == [30]


@needs_prometheus
def test_a_sentinel_and_nan_are_counted_and_never_taken_for_a_number(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    counts = pulled_all(con, url)["gpu_activity_percent"]
    assert (counts.sentinels, counts.not_numbers) == (5, 1)
    # Both GPUs of node-a for 5 minutes, the one of node-b for 5, the other for 1; a pod that comes
    # and goes is no gap.
    assert (counts.gaps, counts.gap_s) == (4, (5 + 5 + 5 + 1) * 60)
    activity = samples(con, "gpu_activity_percent")
    expected = dict.fromkeys(range(MINUTES), 50.0)
    expected |= dict.fromkeys((20, 21, 22, 23, 24, 26), 60.0)  # (80 + 80 + 20) / 3
    expected |= dict.fromkeys(range(50, 55), 20.0)  # node-b alone
    assert activity == expected


@needs_prometheus
def test_racks_have_power_and_thermal_headroom(url: str, con: duckdb.DuckDBPyConnection) -> None:
    pulled_all(con, url)
    assert samples(con, "rack_power_w")[0] == 4 * 300
    assert samples(con, "rack_power_limit_w")[0] == 4 * 700
    assert samples(con, "thermal_headroom_c")[0] == 12
    (labels,) = con.execute("select labels from series where query = 'rack_power_w'").fetchall()[0]
    assert json.loads(labels) == {"rack": "r1"}


@needs_prometheus
def test_queues_have_their_length_and_what_was_admitted_after_which_wait(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    counts = pulled_all(con, url)
    assert Counter(samples(con, "queue_length").values()) == {3: 60, 5: 60}
    admitted, waited = samples(con, "admitted"), samples(con, "admission_wait_s")
    assert {minute: n for minute, n in admitted.items() if n} == {15: 1, 75: 1}
    assert {minute: s for minute, s in waited.items() if s} == {15: 30, 75: 600}
    assert counts["admitted"].counter_resets == counts["admission_wait_s"].counter_resets == 1


@needs_prometheus
def test_nothing_is_pulled_twice(url: str, con: duckdb.DuckDBPyConnection) -> None:
    pulled_all(con, url)
    before = everything(con)
    assert pulled_all(con, url) == {}
    assert everything(con) == before


@needs_prometheus
def test_the_same_chunk_delivered_again_changes_no_number(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    pulled_all(con, url)
    before = con.execute("from events order by all").fetchall()
    con.execute("delete from pulls where query = 'node_states'")
    con.execute("delete from pulled_nodes")
    assert pulled_all(con, url)["node_states"].records == len(STATES)
    assert con.execute("from events order by all").fetchall() == before


@pytest.fixture(scope="module")
def in_one_chunk(url: str) -> list[Any]:
    with harness.fresh_warehouse() as con:
        pulled_all(con, url)
        return everything(con)


@needs_prometheus
@settings(max_examples=5, deadline=None)
@given(chunk_minutes=st.integers(7, 125), stops=st.sets(st.integers(0, 20), max_size=3))
def test_however_it_is_cut_and_stopped_the_same_is_stored(
    url: str, in_one_chunk: list[Any], chunk_minutes: int, stops: set[int]
) -> None:
    policy = WHOLE.model_copy(update={"chunk_s": chunk_minutes * 60})
    with harness.fresh_warehouse() as con:
        for stop in sorted(stops):
            with pytest.raises(_Killed):
                pull(con, policy, url, Path(), B_US, END_US, _killed_after(stop))
                raise _Killed  # there were no more chunks than that
        pulled_all(con, url, policy)
        assert everything(con) == in_one_chunk


class _Killed(BaseException):
    """What ends a pull between two chunks."""


def _killed_after(chunks: int) -> Any:
    left = [chunks]

    def on_chunk(pulled: Pulled) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise _Killed

    return on_chunk


@needs_prometheus
def test_a_chunk_that_is_cut_off_leaves_nothing_of_itself(
    url: str, con: duckdb.DuckDBPyConnection, in_one_chunk: list[Any], monkeypatch: Any
) -> None:
    def killed(*_: Any) -> None:
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(pulling, "_note", killed)
        with pytest.raises(_Killed):
            pulled_all(con, url)
    assert everything(con) == [[], [], []]
    assert con.execute("from files").fetchall() == []
    pulled_all(con, url)
    assert everything(con) == in_one_chunk


class Forwarder(BaseHTTPRequestHandler):
    """Hands requests on to a Prometheus, and ends a process instead of answering the 40th."""

    server: "ForwardingServer"

    def do_GET(self) -> None:
        server = self.server
        server.requests += 1
        if server.requests == 40:
            server.process.kill()
        with urllib.request.urlopen(server.to + self.path, timeout=30) as answer:
            self.send_response(answer.status)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(answer.read())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class ForwardingServer(ThreadingHTTPServer):
    """Counts the requests that it hands on to `to`; `process` is the one to end."""

    process: subprocess.Popen[bytes]

    def __init__(self, to: str) -> None:
        super().__init__(("127.0.0.1", 0), Forwarder)
        self.to, self.requests = to, 0


@needs_prometheus
def test_a_pull_whose_process_is_killed_goes_on_where_it_stopped(
    url: str, tmp_path: Path, in_one_chunk: list[Any]
) -> None:
    home = Home.open(tmp_path / "home")
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    text = text.replace("cluster: null", "cluster: west").replace("chunk_s: 3600", "chunk_s: 600")
    home.policy_file.write_text(text, encoding="utf-8")
    server = ForwardingServer(url)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ["--from", harness.stamp(B_US), "--until", harness.stamp(END_US), "--no-refresh"]
    command = [sys.executable, "-m", "pipelines.cli", "pull-prometheus", *options]
    command += ["--url", address_of(server), "--home", str(home.root)]
    try:
        server.process = subprocess.Popen(command, env=services.ENVIRONMENT)
        assert server.process.wait(120) == -signal.SIGKILL
        with duckdb.connect(home.warehouse) as con:
            assert con.execute("select count(*) from pulls").fetchall() == [(6,)]
        subprocess.run(command, env=services.ENVIRONMENT, check=True, capture_output=True)
    finally:
        server.shutdown()
        server.server_close()
    # Both ask for the time. Of 12 chunks node states ask six times each, seven samples once; the
    # one cut short again.
    assert server.requests == 1 + 12 * (6 + 7) + 40 - 6 * 6
    with duckdb.connect(home.warehouse) as con:
        assert everything(con) == in_one_chunk


@needs_prometheus
def test_a_stale_marker_ends_a_series_at_once(
    url: str, con: duckdb.DuckDBPyConnection, exporter: AnsweringServer
) -> None:
    """The lookback is 30 s: without the marker the number would go on for so long."""
    policy = Prometheus(
        step_s=1,
        chunk_s=60,
        delay_s=0,
        states=[],
        gpus="vector(0) < 0",
        samples={
            "live": {"query": "live_number", "combine": "max"},
            "ended": {"query": "ended_number", "combine": "max"},
        },
    )
    services.until(lambda: _value(url, "ended_number"), "the first scrape", 30)
    scraped_us = now_us()
    exporter.answers[:] = [(200, "live_number 1\n")]
    services.until(lambda: not _value(url, "ended_number"), "the stale marker", 20)
    ended_us = now_us()
    services.until(lambda: now_us() > ended_us + 3 * 10**6, "three seconds more", 20)
    done = pull(con, policy, url, Path(), scraped_us - 10**6)
    found = {pulled.query: pulled.counts for pulled in done}
    assert found["live"].gaps == 0
    assert found["ended"].gaps == 1
    assert found["ended"].gap_s >= 2
    assert found["ended"].used + found["ended"].gap_s == found["live"].used


def _value(url: str, query: str) -> list[Any]:
    import requests

    found = requests.get(f"{url}/api/v1/query", {"query": query}, timeout=10).json()
    return list(found["data"]["result"])


@needs_prometheus
def test_prometheus_own_words_tell_what_is_wrong_with_a_query(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    policy = Prometheus(samples={"odd": {"query": "sum(("}})
    with pytest.raises(UsageError, match=r"query odd: .*refuses it: .*parse error"):
        pull(con, policy, url, Path(), B_US, END_US)


@needs_prometheus
def test_the_command_pulls_derives_and_publishes_and_stores_no_other_label(
    url: str, tmp_path: Path
) -> None:
    home = Home.open(tmp_path / "home")
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    home.policy_file.write_text(f"{text.replace('url: null', f'url: {url}')}", encoding="utf-8")
    moments = ["--from", harness.stamp(B_US), "--until", harness.stamp(END_US)]
    arguments = ["pull-prometheus", *moments, "--home", str(home.root)]
    done = CliRunner().invoke(app, [*arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    rows = {row["query"]: row for row in json.loads(done.stdout)}
    assert rows["node_states"]["records"] == len(STATES)
    assert rows["node_states"]["chunks"] == 2
    # In each of the two chunks of an hour four series, of which UUID and cluster are dropped.
    assert rows["rack_power_w"]["dropped_labels"] == 2 * 4 * 2
    # In each of them six, of which two have a pod.
    assert rows["gpu_activity_percent"]["dropped_labels"] == 2 * (6 * 2 + 2)
    with open_mart(home) as mart:
        (stored,) = mart.rows("select count(*) as n from samples where query = 'rack_power_w'")
        assert stored == {"n": MINUTES}
        (gaps,) = mart.rows(
            "select sum(gaps)::int as gaps, sum(gap_us)::bigint as gap_us from pulls"
            " where query = 'node_states'"
        )
        assert gaps == {"gaps": 1, "gap_us": 5 * MINUTE_US}
    again = CliRunner().invoke(app, [*arguments, "--no-refresh"])
    assert "nothing to pull" in again.stdout
    assert places_of(home, SECRET_POD) == []
    assert "a table of warehouse.duckdb" in places_of(home, "node-a")
    assert SECRET_POD not in done.output


# --- a server that fails --------------------------------------------------------------------------

EMPTY = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}})
PARTIAL = json.dumps({**json.loads(EMPTY), "warnings": ["store west-2 is away"]})
QUICK = Prometheus(retries=0, timeout_s=5, states=(), samples={})
AT = B_S


def answer_of(labels: dict[str, str], values: list[tuple[int, str]]) -> str:
    """What Prometheus answers whose query finds one series."""
    found = [{"metric": labels, "values": values}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, PARTIAL), "no whole answer .*store west-2 is away"),
        ((503, json.dumps({"error": "query timed out"})), "HTTP 503 query timed out"),
        ((200, "<html>hello</html>"), "is the url that of Prometheus"),
        ((200, EMPTY[:-10]), "was cut off"),
        ((200, '{"status": "success", "data": {}}'), "is the url that of Prometheus"),
        ((404, "not found"), "HTTP 404"),
    ],
)
def test_an_answer_that_is_not_whole_stores_nothing_and_says_why(
    answer: tuple[int, str], says: str, con: duckdb.DuckDBPyConnection
) -> None:
    with answering(answer) as server, pytest.raises(PrometheusUnavailable, match=f"(?i){says}"):
        pull(con, QUICK, address_of(server), Path())
    assert con.execute("from pulls").fetchall() == []


ODD_SERIES = [
    *({"metric": {}, "values": [[AT, odd]]} for odd in ("abc", None, [], "")),
    *({"metric": {}, "values": odd} for odd in (None, 5, [[AT]], [[AT, "1", "2"]], [[None, "1"]])),
    *({"metric": odd, "values": []} for odd in (None, ["node"], {"node": 5})),
    {"metric": {}, "values": [[math.inf, "1"]]},
    {"metric": {}, "histograms": [[AT, {}]]},
    "a series",
]


@pytest.mark.parametrize("series", ODD_SERIES, ids=str)
def test_an_answer_of_another_shape_is_none(series: Any, con: duckdb.DuckDBPyConnection) -> None:
    answer = json.dumps({"status": "success", "data": {"result": [series]}})
    with (
        answering((200, answer)) as server,
        pytest.raises(PrometheusUnavailable, match=r"query gpus: .*is the url that of Prometheus"),
    ):
        pull(con, QUICK, address_of(server), Path())
    assert con.execute("from pulls").fetchall() == []


def test_an_answer_for_moments_that_were_not_asked_for_is_none(
    con: duckdb.DuckDBPyConnection,
) -> None:
    odd = answer_of({"node": "n"}, [(AT + 10**8, "8")])
    with (
        answering((200, odd)) as server,
        pytest.raises(PrometheusUnavailable, match="moments that were not asked for"),
    ):
        pull(con, QUICK, address_of(server), Path())


@pytest.mark.parametrize("retries", [0, 1])
@pytest.mark.parametrize("begins", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
def test_a_slow_answer_is_told_from_a_server_that_is_down(
    begins: bytes, retries: int, con: duckdb.DuckDBPyConnection
) -> None:
    policy = QUICK.model_copy(update={"retries": retries, "timeout_s": 1})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_begin_answers, args=(listener, begins), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(PrometheusUnavailable, match=f"no answer from {url} within 1 s"):
            pull(con, policy, url, Path())


def _begin_answers(listener: socket.socket, begins: bytes) -> None:
    held = []
    with suppress(OSError):
        while True:
            held.append(listener.accept()[0])
            held[-1].sendall(begins)


def test_a_server_that_is_busy_cannot_hold_the_warehouse_for_hours(
    con: duckdb.DuckDBPyConnection,
) -> None:
    policy = QUICK.model_copy(update={"retries": 1})
    with answering((503, "busy"), (200, EMPTY)) as server:
        server.headers = {"Retry-After": "7200"}
        assert pull(con, policy, address_of(server), Path())


@pytest.mark.parametrize("ahead_s", [-7200, 7200])
def test_moments_are_those_of_the_servers_clock(
    ahead_s: int, con: duckdb.DuckDBPyConnection
) -> None:
    """A machine whose clock is ahead would ask for what is not there yet, and never again."""
    with answering((200, EMPTY)) as server:
        server.clock_s = now_us() / 10**6 + ahead_s
        pull(con, QUICK, address_of(server), Path())
    (until_us,) = con.execute("select max(until_us) from pulls").fetchall()[0]
    newest_s = server.clock_s - QUICK.delay_s
    assert newest_s - QUICK.step_s < until_us / 10**6 <= newest_s


def test_a_server_that_is_down_is_named(con: duckdb.DuckDBPyConnection) -> None:
    address = f"http://127.0.0.1:{services.free_port()}"
    with pytest.raises(PrometheusUnavailable, match=f"cannot be asked at {address}.*server up"):
        pull(con, QUICK, address, Path())


def test_a_server_that_is_busy_is_asked_again(con: duckdb.DuckDBPyConnection) -> None:
    policy = QUICK.model_copy(update={"retries": 2})
    with answering((503, "busy"), (503, "busy"), (200, EMPTY)) as server:
        done = pull(con, policy, address_of(server), Path())
        assert len(server.seen) >= 3
    assert {pulled.query for pulled in done} == {"node_states"}


@pytest.mark.parametrize(
    ("secret", "header"),
    # "aGVhZHdheTpodW50ZXIyMg==" is `printf headway:hunter22 | base64`.
    [
        ("s3cr3t-t0k3n", "Bearer s3cr3t-t0k3n"),
        ("headway:hunter22", "Basic aGVhZHdheTpodW50ZXIyMg=="),
    ],
)
def test_credentials_come_from_a_file_and_are_shown_and_stored_nowhere(
    secret: str, header: str, tmp_path: Path
) -> None:
    home = Home.open(tmp_path / "home")
    (tmp_path / "secret").write_text(secret + "\n", encoding="utf-8")
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    named = text.replace("credentials_file: null", "credentials_file: ../secret")
    home.policy_file.write_text(named.replace("retries: 4", "retries: 0"), encoding="utf-8")
    with answering((200, EMPTY), (401, "who are you")) as server:
        arguments = ["pull-prometheus", "--url", address_of(server), "--home", str(home.root)]
        done = CliRunner().invoke(app, arguments)
        assert server.seen[0] == header
    assert isinstance(done.exception, HeadwayError)
    told = f"{done.output}{done.exception}"
    assert "HTTP 401" in told
    hidden = [secret, header]
    assert not any(words in told for words in hidden)
    assert [places_of(home, words) for words in hidden] == [[], []]


def test_a_node_without_gpus_is_none_of_the_clusters() -> None:
    counts = Counts()
    idle = dict.fromkeys(GRID.moments, 0.0)
    answers = [Answer(StateQuery(state="down", query="x"), {"cpu-1": idle, "gpu-1": idle})]
    gpus = {"gpu-1": {at: 8.0 for at in GRID.moments if at >= 660}}
    records, after = changes(GRID, gpus, answers, {}, None, counts)
    # 600 s after 1970 is 00:10; its GPUs are known from the next minute on.
    assert records == [
        {
            "event": "node_state",
            "ts": "1970-01-01T00:11:00+00:00",
            "node": "gpu-1",
            "gpus": 8,
            "state": "idle",
        }
    ]
    assert after == {"gpu-1": NodeState("idle", 8)}
    assert (counts.gaps, counts.gap_s, counts.used) == (1, 60, 9)


def test_a_node_that_has_no_gpus_any_more_is_taken_out() -> None:
    idle = {"n": dict.fromkeys(GRID.moments, 0.0)}
    gpus = {"n": {at: 8.0 if at < 660 else 0.0 for at in GRID.moments}}
    answers = [Answer(StateQuery(state="down", query="x"), idle)]
    records, after = changes(GRID, gpus, answers, {}, None, counts := Counts())
    assert [(record["ts"][14:16], record["gpus"]) for record in records] == [("10", 8), ("11", 0)]
    assert (after, counts.gaps) == ({"n": NodeState("idle", 0)}, 0)


@pytest.mark.parametrize("number", [1.5, -1.0, 2.0**53, 1e300])
def test_a_number_of_gpus_that_is_none_is_refused(number: float) -> None:
    gpus = {"n": dict.fromkeys(GRID.moments, number)}
    with pytest.raises(UsageError, match=r"node n has .* GPUs; count whole ones"):
        changes(GRID, gpus, [], {}, None, Counts())


@pytest.mark.parametrize(
    ("cluster", "said"), [(None, ("a", "b")), ("a", ("a", "b")), ("a", ("b",))]
)
def test_what_is_called_alike_in_two_clusters_is_not_taken_for_one(
    cluster: str | None, said: tuple[str, ...], con: duckdb.DuckDBPyConnection
) -> None:
    series = [{"metric": {"node": "n", "cluster": name}, "values": []} for name in said]
    answer = json.dumps({"status": "success", "data": {"result": series}})
    policy = QUICK.model_copy(update={"cluster": cluster})
    with (
        answering((200, answer)) as server,
        pytest.raises(UsageError, match="query gpus: series of another cluster"),
    ):
        pull(con, policy, address_of(server), Path())


@needs_prometheus
@pytest.mark.parametrize("cluster", [None, "east"])
def test_a_cluster_that_is_called_otherwise_does_not_count_twice(
    url: str, con: duckdb.DuckDBPyConnection, cluster: str | None
) -> None:
    pulled_all(con, url, until_us=B_US + 30 * MINUTE_US)
    before = everything(con)
    with pytest.raises(UsageError, match=r"was west when node states were pulled"):
        pulled_all(con, url, WHOLE.model_copy(update={"cluster": cluster}))
    assert everything(con) == before


def test_a_dot_in_a_clusters_name_is_a_dot() -> None:
    query = Server(Prometheus(cluster="eu.1"), "http://host", None).query('x{c=~"{cluster}"}')
    (pattern,) = re.findall('"(.*)"', query)
    assert [name for name in ("eu.1", "eu-1", "eux1") if re.fullmatch(pattern, name)] == ["eu.1"]


def test_where_a_query_should_speak_and_does_not_the_state_is_unknown_unless_settled() -> None:
    down, allocated = StateQuery(state="down", query="x"), StateQuery(state="allocated", query="y")
    gpus = {"n": dict.fromkeys(GRID.moments, 8.0)}
    said = {600: 0.0, 660: 0.0, 720: 1.0}
    answers = [Answer(down, {"n": said}), Answer(allocated, {"n": {600: 1.0}})]
    records, _ = changes(GRID, gpus, answers, {}, None, counts := Counts())
    # 660: not down, and nothing is said of allocated; 720: down; then nothing is said at all.
    assert [(record["ts"][14:16], record["state"]) for record in records] == [
        ("10", "allocated"),
        ("12", "down"),
    ]
    assert (counts.gaps, counts.gap_s) == (2, (1 + 7) * 60)


def test_a_schedule_pulls_only_where_the_policy_names_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.open(tmp_path / "home")
    monkeypatch.setenv("HEADWAY_HOME", str(home.root))
    assert isinstance(hourly_pull(dg.build_schedule_context()), dg.SkipReason)
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    home.policy_file.write_text(text.replace("url: null", "url: http://host:9090"), "utf-8")
    assert isinstance(hourly_pull(dg.build_schedule_context()), dg.RunRequest)


def test_a_remark_on_a_query_makes_no_answer_a_part(con: duckdb.DuckDBPyConnection) -> None:
    remark = {"warnings": ["PromQL info: metric might not be a counter"]}
    with answering((200, json.dumps(json.loads(EMPTY) | remark))) as server:
        assert pull(con, QUICK, address_of(server), Path())


@pytest.mark.parametrize(
    "url", ["ftp://x", "host:9090", "http://me:hunter22@host", "http://host/?token=hunter22", ""]
)
def test_an_address_that_is_none_or_may_hold_a_secret_is_refused_and_not_shown(
    url: str, con: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(UsageError, match="credentials_file") as refused:
        pull(con, QUICK, url, Path())
    assert "hunter22" not in str(refused.value)


def test_without_an_address_there_is_nothing_to_pull_from(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match="--url"):
        pull(con, Prometheus(), None, Path())


# --- numbers --------------------------------------------------------------------------------------

GRID = Grid(600, 1200, 60, remember_s=900)


def cleaned(values: dict[int, str], counter: bool = False) -> tuple[dict[int, float], Counts]:
    counts = Counts()
    series = [Series({}, [(at, float(text)) for at, text in sorted(values.items())])]
    (found,) = clean(series, GRID, frozenset(Prometheus().sentinels), {}, counts, counter)
    return found.numbers, counts


@pytest.mark.parametrize(
    "text",
    # dcgm_structs.h: blank, not found, not supported, not permitted; int32, int64, fp64.
    [
        *("2147483632", "2147483635", "9223372036854775792", "9223372036854775795"),
        *("140737488355328", "140737488355331"),
    ],
)
def test_each_blank_value_of_dcgm_is_a_sentinel(text: str) -> None:
    assert cleaned({600: text, 660: "1"}) == (
        {660: 1.0},
        Counts(points=2, sentinels=1, gaps=1, gap_s=8 * 60),
    )


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf"])
def test_what_is_not_finite_is_no_number(text: str) -> None:
    numbers, counts = cleaned({600: text})
    assert (numbers, counts.not_numbers) == ({}, 1)


def test_a_counter_grows_from_the_moment_before_the_chunk_and_anew_after_a_reset() -> None:
    numbers, counts = cleaned({540: "10", 600: "12", 660: "3", 720: "3"}, counter=True)
    assert numbers == {600: 2.0, 660: 3.0, 720: 0.0}
    assert counts.counter_resets == 1


def test_the_first_number_of_a_counter_says_nothing() -> None:
    assert cleaned({600: "12"}, counter=True)[0] == {}


@given(st.sets(st.sampled_from(list(GRID.moments)), min_size=1))
def test_after_its_first_number_each_moment_of_a_series_is_a_number_or_in_a_gap(
    said: set[int],
) -> None:
    _, counts = cleaned(dict.fromkeys(said, "1"))
    silent = set(range(min(said), GRID.until_s, 60)) - said
    assert counts.gap_s == 60 * len(silent)
    assert counts.gaps == len([at for at in silent if at - 60 not in silent])


@given(
    said=st.dictionaries(st.integers(0, 39), st.integers(0, 5)),
    cuts=st.sets(st.integers(1, 39)),
    remembered=st.integers(0, 6),
)
def test_however_time_is_cut_a_counter_and_its_gaps_are_the_same(
    said: dict[int, int], cuts: set[int], remembered: int
) -> None:
    """A number each minute or none. The last one is remembered for so many minutes, or for one."""
    grown, counts = {}, Counts()
    for first, until in pairwise([0, *sorted(cuts), 40]):
        grid = Grid(first * 60, until * 60, 60, remembered * 60)
        values = [(at, float(said[at // 60])) for at in grid.heard if at // 60 in said]
        (found,) = clean([Series({}, values)], grid, frozenset(), {}, counts, counter=True)
        grown |= {at // 60: value for at, value in found.numbers.items()}

    before = {at: max((then for then in said if then < at), default=-99) for at in range(40)}
    known = {at: then for at, then in before.items() if at - then <= max(remembered, 1)}
    assert grown == {
        at: said[at] - (said[then] if said[at] >= said[then] else 0)
        for at, then in known.items()
        if at in said
    }
    assert counts.counter_resets == sum(
        said[at] < said[then] for at, then in known.items() if at in said
    )
    silent = [at for at in known if at not in said]
    assert counts.gap_s == 60 * len(silent)
    assert counts.gaps == len([at for at in silent if at - 1 in said])


class CountingSeconds(BaseHTTPRequestHandler):
    """A Prometheus whose one series is a counter: the second since 1970."""

    def do_GET(self) -> None:
        asked = {name: said[0] for name, said in parse_qs(urlsplit(self.path).query).items()}
        if "start" in asked:
            start, end, step = (int(asked[name]) for name in ("start", "end", "step"))
            text = answer_of({"node": "n"}, [(at, str(at)) for at in range(start, end + 1, step)])
        else:
            text = clock(now_us() / 10**6)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def counting() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), CountingSeconds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address_of(server)
    server.shutdown()
    server.server_close()


@settings(max_examples=10, deadline=None)
@given(
    pulls=st.lists(
        st.tuples(st.sampled_from([7, 60, 90, 300]), st.integers(1, 1200)), min_size=2, max_size=5
    )
)
def test_however_the_step_changes_every_second_of_a_counter_counts_once(
    counting: str, pulls: list[tuple[int, int]]
) -> None:
    """(step, seconds further) of pulls one after the other."""
    second = SampleQuery(query="x", counter=True)
    until_s = B_S
    with harness.fresh_warehouse() as con:
        for step_s, further_s in pulls:
            until_s += further_s
            policy = Prometheus(step_s=step_s, states=(), samples={"second": second})
            pull(con, policy, counting, Path(), B_US, until_s * 10**6)
        rows = con.execute("select ts_us, value from samples order by ts_us").fetchall()
    moments = [int(ts_us // 10**6) for ts_us, _ in rows]
    assert len(set(moments)) == len(moments)
    # The first number grew since the moment before it, each other one since the one before.
    assert [int(value) for _, value in rows[1:]] == [b - a for a, b in pairwise(moments)]


@pytest.mark.parametrize(
    ("combine", "kept"),
    [("sum", {}), ("avg", {}), ("max", {600: 1.7e308}), ("min", {600: 1.7e308})],
)
def test_a_sum_past_every_number_is_none(combine: Any, kept: dict[int, float]) -> None:
    query = SampleQuery(query="x", combine=combine)
    several = [Clean({}, {600: 1.7e308})] * 3
    assert combined("x", query, several, counts := Counts()) == {"{}": kept}
    assert (counts.used, counts.not_numbers) == (len(kept), 1 - len(kept))


# --- the policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("{url: 'http://me:secret@host:9090'}", "credentials_file"),
        ("{url: 'host:9090'}", "http://host:9090"),
        ("{step_s: 1, chunk_s: 86400}", "10,099 steps"),
        ("{step_s: 1, chunk_s: 1, remember_s: 86400}", "remember_s"),
        ("{gpus: 'x{cluster=\"{cluster}\"}'}", 'cluster=~"{cluster}"'),
        ("{gpus: 'x{cluster=\"{clutser}\"}{clutser}'}", "no placeholder"),
        ("{cluster: 'a\"} or up{x=\"'}", "pattern"),
        ("{states: [{state: idle, query: up}]}", "allocated"),
        ("{samples: {x: {query: up, by: [pod]}}}", "cluster_queue"),
        ("{samples: {node_states: {query: up}}}", "call the sample otherwise"),
        ("{chunk: 3}", "did you mean chunk_s"),
    ],
)
def test_a_fault_of_the_section_is_told(section: str, says: str) -> None:
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    before, _, _ = text.partition("\nprometheus:")
    _, faults = read_policy(f"{before}\nprometheus: {section}\n")
    told = "; ".join(map(str, faults))
    assert says in told
    assert ":secret@" not in told


@needs_prometheus
@pytest.mark.parametrize(("chunk_s", "remember_s"), [(10_099, 900), (10_998, 0)])
def test_the_longest_chunk_is_one_that_prometheus_answers(
    url: str, con: duckdb.DuckDBPyConnection, chunk_s: int, remember_s: int
) -> None:
    longest = {"step_s": 1, "chunk_s": chunk_s, "remember_s": remember_s}
    with pytest.raises(ValidationError, match="must hold"):
        Prometheus.model_validate(longest | {"chunk_s": chunk_s + 1})
    policy = Prometheus(**longest, states=(), samples={})
    (done,) = pull(con, policy, url, Path(), B_US, B_US + chunk_s * 10**6)
    assert len(done.grid.moments) == chunk_s


def test_the_policy_file_says_what_holds_without_it() -> None:
    policy, faults = read_policy(DEFAULT_POLICY_FILE.read_text(encoding="utf-8"))
    assert faults == []
    assert policy is not None
    assert policy.prometheus == Prometheus()
