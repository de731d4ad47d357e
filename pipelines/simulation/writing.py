"""The files of a simulation: events by the hour, and the truth beside them.

Each file is written under a temporary name and renamed, so that whoever watches the folder reads
complete files only. Steps are written by a second thread while the next hour is simulated.
"""

import json
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metrics.conventions import US_PER_S
from pipelines.simulation.disorder import Delivery
from pipelines.simulation.recording import StepTable
from pipelines.simulation.truth import Label

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS_AT_ONCE = 50_000
_DURATIONS = ("duration", "data_wait", "straggler", "checkpoint", "overhead")
_WITH_DICTIONARY = ["job", "attempt", "straggler_node", "straggler_s", "checkpoint_s", "overhead_s"]

TRUTH_README = """\
# The truth of this simulation

Computed from the simulator's own states, by the accounting rules, as of the end of the simulated
time. Times are integer microseconds since 1970-01-01 UTC, lengths integer microseconds.

| file | grain | columns |
| --- | --- | --- |
| ledger.parquet | job, hour, category, component, cause | `us` of the job's wall-clock |
| restarts.parquet | a restart of a job | as `headway restarts` prints them |
| queue.parquet | a job | when submitted and started, `wait_us`; `censored`: not started |
| waits.parquet | a turn of a job's wait | what it waits for: `part`, and `reason` where pending |
| waiting.parquet | a job that waits at the end | since when and why, and what is gathered for it |
| contracts.parquet | an occasion of a contract | `kept`: null where no record can tell |
| breaches.parquet | a promise not kept | kind, `at_us`, what was promised and what was given |
| capacity.parquet | hour, state of nodes | `gpu_us`; each hour sums to the installed GPU time |
| shares.parquet | hour, tenant | GPU-µs guaranteed, used, lent and borrowed |

The turns of a job's wait sum to it; contracts are those of `headway contracts`, each time that the
platform could have broken one. A tenant uses what its jobs hold, from each allocation until they
give it back.

Kinds of breaches: `no_signal` (preempted without a signal: the grace window promised, 0 given),
`short_grace` (reclaimed before the grace window was over, and before the job had saved),
`durability` (a storage failure cost more rework than one checkpoint interval).

`scenario.json` holds the options, and the GPUs that each tenant is guaranteed (`shares:` in the
policy). With `disorder` none or delivery, all of this is what must be derived from the events; with
skew or loss it is what really happened.
"""


class Folder:
    """The output directory; closing it waits for what is being written."""

    def __init__(self, root: Path) -> None:
        self.events = root / "events"
        self.truth = root / "truth"
        self.events.mkdir(parents=True, exist_ok=True)
        self.truth.mkdir(parents=True, exist_ok=True)
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        self._ledger_tmp = self.truth / "ledger.parquet.tmp"
        self._ledger = pq.ParquetWriter(self._ledger_tmp, _LEDGER, compression="zstd")

        self._ledger_rows: list[tuple[str | int, ...]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._writer.shutdown(wait=True)
        if error is None:
            self._flush_ledger()
        self._ledger.close()
        if error is None:
            self._wait()
            self._ledger_tmp.rename(self.truth / "ledger.parquet")

    def write_hour(
        self, start_us: int, delivery: Delivery, job_names: list[str], node_names: list[str]
    ) -> None:
        """Write what the hour that began at `start_us` delivers."""
        stem = (_EPOCH + timedelta(microseconds=start_us)).strftime("%Y-%m-%dT%H%M")
        if delivery.lines:
            _write_lines(self.events / f"{stem}.lifecycle.jsonl", delivery.lines)
        if delivery.late_lines:
            _write_lines(self.events / f"{stem}.late.steps.jsonl", delivery.late_lines)
        if delivery.steps is not None and len(delivery.steps):
            table = step_table(delivery.steps, job_names, node_names)
            self._wait()
            path = self.events / f"{stem}.steps.parquet"
            self._writing = self._writer.submit(_write_steps, path, table)

    def write_ledger(self, job: str, ledger: dict[tuple[int, Label], int]) -> None:
        """Append a job's ledger."""
        for (hour_us, label), us in sorted(ledger.items()):
            if us:
                self._ledger_rows.append((job, hour_us, *label, us))
        if len(self._ledger_rows) >= _ROWS_AT_ONCE:
            self._flush_ledger()

    def _flush_ledger(self) -> None:
        if not self._ledger_rows:
            return
        columns = [
            pa.array(values, type=column.type)
            for values, column in zip(zip(*self._ledger_rows, strict=True), _LEDGER, strict=True)
        ]
        self._ledger.write_table(pa.Table.from_arrays(columns, schema=_LEDGER))
        self._ledger_rows = []

    def write_truth(self, name: str, row: type[Any], rows: Iterable[Any]) -> None:
        """Write one table of the truth: rows of this dataclass, by its first two fields."""
        ordered = sorted(rows, key=attrgetter(*list(row.__dataclass_fields__)[:2]))
        self._write_table(name, _schema(row), map(asdict, ordered))

    def write_capacity(self, capacity: dict[tuple[int, str], int]) -> None:
        """Write how the nodes' GPU time was spent, {(hour_us, state): gpu_us}."""
        spent = [
            {"hour_us": hour, "state": state, "gpu_us": us}
            for (hour, state), us in sorted(capacity.items())
        ]
        self._write_table("capacity", _CAPACITY, spent)

    def write_scenario(self, scenario: dict[str, Any]) -> None:
        """Write the options of the run, and what the tables of the truth mean."""
        _write_lines(self.truth / "README.md", [TRUTH_README.rstrip()])
        _write_lines(self.truth / "scenario.json", [json.dumps(scenario, indent=2)])

    def _write_table(self, name: str, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> None:
        temporary = self.truth / f"{name}.parquet.tmp"
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), temporary)
        temporary.rename(self.truth / f"{name}.parquet")

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None


_LEDGER = pa.schema(
    [
        ("job", pa.string()),
        ("hour_us", pa.int64()),
        ("category", pa.string()),
        ("component", pa.string()),
        ("cause", pa.string()),
        ("us", pa.int64()),
    ]
)
_TEXT_COLUMNS = (
    *("job", "tier", "cause", "outcome", "basis", "kind"),
    *("part", "reason", "contract", "tenant"),
)
_FLAGS = ("censored", "kept", "is_again")


def _schema(row: type[Any]) -> pa.Schema:
    kinds = dict.fromkeys(_FLAGS, pa.bool_()) | dict.fromkeys(_TEXT_COLUMNS, pa.string())
    return pa.schema([(name, kinds.get(name, pa.int64())) for name in row.__dataclass_fields__])


_CAPACITY = pa.schema([("hour_us", pa.int64()), ("state", pa.string()), ("gpu_us", pa.int64())])


def step_table(steps: StepTable, job_names: list[str], node_names: list[str]) -> pa.Table:
    """Step records with the columns of the canonical step stream."""
    straggles = (steps.straggler_us > 0) & (steps.straggler_node >= 0)
    nodes = pa.array(np.where(straggles, steps.straggler_node, 0), mask=~straggles)
    columns: dict[str, Any] = {
        "job": pa.DictionaryArray.from_arrays(pa.array(steps.job), pa.array(job_names)),
        "attempt": pa.array(steps.attempt),
        "step": pa.array(steps.step),
        "ts": pa.array(steps.ts_us).cast(pa.timestamp("us", tz="UTC")),
    }
    for name in _DURATIONS:
        columns[f"{name}_s"] = pa.array(getattr(steps, f"{name}_us") / US_PER_S)
    known = pa.array(node_names or ["none"])
    columns["straggler_node"] = pa.DictionaryArray.from_arrays(nodes, known)
    return pa.table(columns)


def _write_steps(path: Path, table: pa.Table) -> None:
    temporary = path.with_name(path.name + ".tmp")
    pq.write_table(
        table,
        temporary,
        compression="zstd",
        compression_level=1,
        use_dictionary=_WITH_DICTIONARY,
        write_statistics=False,
        store_schema=False,
    )
    temporary.rename(path)


def _write_lines(path: Path, lines: list[str]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    temporary.rename(path)
