"""Chunk by chunk into the warehouse, each exactly once, from where the last pull stopped.

What a chunk yields, the states that nodes are left in and the note that it was pulled are one
transaction. So a pull that is killed goes on from the last whole chunk, and no chunk is asked for
twice. Node states go through the same checks as every lifecycle record.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from answers.clock import now_us
from metrics.collecting import DAY_S, NODE_STATES, Prometheus, SampleQuery, server_address
from metrics.conventions import US_PER_S
from metrics.errors import UsageError
from pipelines.ingest import store
from pipelines.prometheus.asking import Series, Server, secret_of
from pipelines.prometheus.cleaning import Clean, Counts, Grid, clean, combined
from pipelines.prometheus.node_states import Answer, NodeState, Values, by_node, changes
from pipelines.reading import Batch, incoming_records, take_records
from pipelines.sources import Record
from pipelines.warehouse import one_row, transaction

SOURCE = "prometheus"


@dataclass(frozen=True)
class Pulled:
    """What became of one chunk of a query."""

    query: str
    grid: Grid
    counts: Counts


def pull(
    con: duckdb.DuckDBPyConnection,
    settings: Prometheus,
    url: str | None,
    root: Path,
    from_us: int | None = None,
    until_us: int | None = None,
    on_chunk: Callable[[Pulled], None] = lambda pulled: None,
) -> list[Pulled]:
    """Pull what is new of every query of the policy, and store it; what each chunk held.

    A query that was pulled before goes on from where that ended, whatever `from_us` says. Nothing
    younger than the policy's delay is asked for, by the server's clock: by one that is ahead of it
    moments would be asked for that hold nothing yet, and never again. Raises UsageError without an
    address or where Prometheus refuses a query, and PrometheusUnavailable where it gives no whole
    answer.
    """
    _refuse_a_renamed_cluster(con, settings.cluster)
    server = Server(settings, address(settings, url), secret_of(settings, root))
    done = []
    try:
        now_s = server.now_s()  # one for all queries, so that they end at the same moment
        for name in (NODE_STATES, *settings.samples):
            for grid in _chunks(con, settings, name, now_s, from_us, until_us):
                pulled = Pulled(name, grid, Counts())
                if name == NODE_STATES:
                    _pull_states(con, server, settings, pulled)
                else:
                    _pull_samples(con, server, settings, pulled)
                done.append(pulled)
                on_chunk(pulled)
    finally:
        server.close()
    _forget(con, settings.keep_days)
    return done


def address(settings: Prometheus, url: str | None) -> str:
    """The server to ask: the one given, else the policy's. Raises UsageError for neither."""
    found = settings.url if url is None else url
    if found is None:
        raise UsageError("no Prometheus to pull from: say --url, or prometheus.url in the policy")
    try:
        return server_address(found)
    except ValueError as e:
        raise UsageError(f"--url: {e}") from e


def _chunks(
    con: duckdb.DuckDBPyConnection,
    settings: Prometheus,
    name: str,
    now_s: int,
    from_us: int | None,
    until_us: int | None,
) -> Iterator[Grid]:
    """The chunks still to pull: whole steps, each chunk as long as the policy says or shorter.

    Where the policy's step is longer than before, the last moment lies between two of its steps;
    a chunk of one moment then leads to the next of them.
    """
    step_s, remember_s = settings.step_s, settings.remember_s
    newest_s = now_s - settings.delay_s
    asked_s = newest_s if until_us is None else min(until_us // US_PER_S, newest_s)
    end_s = asked_s // step_s * step_s
    begin_s = now_s - settings.first_s if from_us is None else from_us // US_PER_S
    first_s = -(-begin_s // step_s) * step_s
    last_s = _last_moment_s(con, name)
    if last_s is not None:
        first_s = (last_s // step_s + 1) * step_s
        lead_s = first_s - last_s
        if lead_s < step_s and first_s < end_s:
            yield Grid(first_s, first_s + lead_s, lead_s)
            first_s += step_s
    size_s = settings.chunk_s // step_s * step_s
    for start_s in range(first_s, end_s, size_s):
        yield Grid(start_s, min(start_s + size_s, end_s), step_s, remember_s)


def _last_moment_s(con: duckdb.DuckDBPyConnection, name: str) -> int | None:
    """The newest moment that was asked for; None before the first pull."""
    (last_us,) = one_row(con, "select max(until_us - step_us) from pulls where query = ?", [name])
    return None if last_us is None else int(last_us) // US_PER_S


def _pull_states(
    con: duckdb.DuckDBPyConnection, server: Server, settings: Prometheus, pulled: Pulled
) -> None:
    """Make node_state records of one chunk, and store them as any lifecycle record."""
    gpus = _values(server, settings, pulled, "gpus", settings.gpus, counter=False)
    answers = [
        Answer(
            query,
            _values(server, settings, pulled, query.state, query.query, counter=query.counter),
        )
        for query in settings.states
    ]
    # Gaps are those of nodes: a query that rightly says nothing of one leaves none.
    pulled.counts.gaps = pulled.counts.gap_s = 0
    known = {
        node: NodeState(state, gpus_known)
        for node, state, gpus_known in con.execute("from pulled_nodes").fetchall()
    }
    records, after = changes(pulled.grid, gpus, answers, known, settings.cluster, pulled.counts)
    with incoming_records(con), transaction(con):
        if records:
            _store_records(con, pulled, records)
        for node, now in after.items():
            if now != known.get(node):
                con.execute(
                    "insert or replace into pulled_nodes values (?, ?, ?)",
                    [node, now.state, now.gpus],
                )
        _note(con, pulled)


def _store_records(
    con: duckdb.DuckDBPyConnection, pulled: Pulled, records: list[dict[str, Any]]
) -> None:
    """Store the records of a chunk as those of a file; what is stored already changes nothing."""
    grid = pulled.grid
    text = json.dumps([SOURCE, asdict(grid), records], sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    if con.execute("select 1 from files where fingerprint = ?", [fingerprint]).fetchall():
        return
    batch = Batch()
    take_records(con, (Record("lifecycle", record) for record in records), batch)
    path = Path(f"{SOURCE}:{pulled.query}:{grid.first_s}-{grid.until_s}")
    store(con, batch, fingerprint, path, SOURCE)


def _values(
    server: Server,
    settings: Prometheus,
    pulled: Pulled,
    name: str,
    template: str,
    counter: bool,
) -> Values:
    return by_node(name, _cleaned(server, settings, pulled, name, template, counter))


def _cleaned(
    server: Server,
    settings: Prometheus,
    pulled: Pulled,
    name: str,
    template: str,
    counter: bool,
) -> list[Clean]:
    grid = pulled.grid
    found = server.ask(name, template, grid.heard)
    _refuse_other_clusters(name, found, settings.cluster)
    sentinels = frozenset(settings.sentinels)
    return clean(found, grid, sentinels, settings.aliases, pulled.counts, counter)


def _refuse_a_renamed_cluster(con: duckdb.DuckDBPyConnection, cluster: str | None) -> None:
    """Raises UsageError: a node of the old name would stay what it was, and count beside itself."""
    found = con.execute(
        "select cluster from events semi join (from files where source = ?) using (file_id)"
        " order by event_id desc limit 1",
        [SOURCE],
    ).fetchall()
    if found and found[0][0] != cluster:
        raise UsageError(
            f"prometheus.cluster is {cluster or 'null'} now, and was {found[0][0] or 'null'} when"
            " node states were pulled: each node would count twice; set it back, or pull the other"
            " cluster into a --home of its own"
        )


def _refuse_other_clusters(name: str, found: list[Series], cluster: str | None) -> None:
    """Raises UsageError: what has one name in two clusters would become one thing."""
    said = {series.labels["cluster"] for series in found if "cluster" in series.labels}
    if len(said | ({cluster} - {None})) > 1:
        raise UsageError(
            f"query {name}: series of another cluster than one ({', '.join(sorted(said))}); say"
            ' which it is in prometheus.cluster, and cluster=~"{cluster}" in the query'
        )


def _pull_samples(
    con: duckdb.DuckDBPyConnection, server: Server, settings: Prometheus, pulled: Pulled
) -> None:
    query = settings.samples[pulled.query]
    cleaned = _cleaned(server, settings, pulled, pulled.query, query.query, query.counter)
    with transaction(con):
        _store_samples(con, pulled, query, cleaned)
        _note(con, pulled)


def _store_samples(
    con: duckdb.DuckDBPyConnection, pulled: Pulled, query: SampleQuery, cleaned: list[Clean]
) -> None:
    rows = [
        {"labels": labels, "ts_us": at * US_PER_S, "value": value}
        for labels, moments in combined(pulled.query, query, cleaned, pulled.counts).items()
        for at, value in moments.items()
    ]
    schema = pa.schema([("labels", pa.string()), ("ts_us", pa.int64()), ("value", pa.float64())])
    con.register("pulled_samples", pa.Table.from_pylist(rows, schema=schema))
    con.execute(
        "insert into series select (select coalesce(max(series_id), 0) from series)"
        " + row_number() over (order by labels), $query, labels"
        " from (select distinct labels from pulled_samples)"
        " where labels not in (select labels from series where query = $query)",
        {"query": pulled.query},
    )
    con.execute(
        "insert into samples select series_id, ts_us, value from pulled_samples"
        " join series on series.query = ? and series.labels = pulled_samples.labels",
        [pulled.query],
    )
    con.unregister("pulled_samples")


def _note(con: duckdb.DuckDBPyConnection, pulled: Pulled) -> None:
    counts, grid = pulled.counts, pulled.grid
    con.execute(
        "insert into pulls by name select $query as query, $from_us as from_us,"
        " $until_us as until_us, $step_us as step_us, $points as points, $used as used,"
        " $gaps as gaps, $gap_us as gap_us, $counter_resets as counter_resets,"
        " $sentinels as sentinels, $not_numbers as not_numbers,"
        " $dropped_labels as dropped_labels, $records as records, $now_us as pulled_at_us",
        {name: value for name, value in asdict(counts).items() if name != "gap_s"}
        | {
            "query": pulled.query,
            "from_us": grid.first_s * US_PER_S,
            "until_us": grid.until_s * US_PER_S,
            "step_us": grid.step_s * US_PER_S,
            "gap_us": counts.gap_s * US_PER_S,
            "now_us": now_us(),
        },
    )


def _forget(con: duckdb.DuckDBPyConnection, keep_days: int) -> None:
    """Drop samples, and notes of chunks, that are older than the policy keeps them: before the
    newest sample, so that a clock that steps forward drops nothing. Each query's last note stays,
    since it says where to go on."""
    oldest = "(select max(until_us) from pulls) - ?::bigint"
    keep_us = keep_days * DAY_S * US_PER_S
    with transaction(con):
        con.execute(f"delete from samples where ts_us < {oldest}", [keep_us])
        con.execute(
            f"delete from pulls where until_us < {oldest} and (query, until_us) not in"
            " (select (query, max(until_us)) from pulls group by query)",
            [keep_us],
        )
