"""What the platform writes down: lifecycle records and step records, gathered by the hour."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.conventions import US_PER_S
from pipelines.simulation.stepping import StepArrays

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stamp(us: int) -> str:
    """RFC 3339 text of microseconds since 1970 UTC."""
    return (_EPOCH + timedelta(microseconds=us)).isoformat()


def seconds(us: int) -> float:
    """Microseconds as seconds, exact to the microsecond when rounded to it."""
    return us / US_PER_S


@dataclass(frozen=True)
class StepTable:
    """Step records as columns of one length; times in microseconds."""

    job: npt.NDArray[np.int32]
    """Index into the recorder's names of jobs."""
    attempt: npt.NDArray[np.int32]
    step: npt.NDArray[np.int64]
    ts_us: npt.NDArray[np.int64]
    duration_us: npt.NDArray[np.int64]
    data_wait_us: npt.NDArray[np.int64]
    straggler_us: npt.NDArray[np.int64]
    checkpoint_us: npt.NDArray[np.int64]
    overhead_us: npt.NDArray[np.int64]
    straggler_node: npt.NDArray[np.int32]
    """Index into the recorder's names of nodes, −1 for none."""

    def __len__(self) -> int:
        return len(self.step)

    def take(self, which: npt.NDArray[Any]) -> "StepTable":
        """Some rows, by mask or index."""
        return StepTable(**{name: getattr(self, name)[which] for name in STEP_COLUMNS})


STEP_COLUMNS = tuple(StepTable.__dataclass_fields__)
_FROM_ARRAYS = {
    "ts_us": "ts_us",
    "duration_us": "duration_us",
    "data_wait_us": "loader_us",
    "straggler_us": "straggler_us",
    "checkpoint_us": "checkpoint_us",
    "overhead_us": "overhead_us",
}


def joined(tables: list[StepTable]) -> StepTable:
    """Rows of several tables, one after the other (at least one table)."""
    return StepTable(
        **{name: np.concatenate([getattr(t, name) for t in tables]) for name in STEP_COLUMNS}
    )


Lifecycle = list[tuple[int, dict[str, Any]]]
"""(ts_us, fields) of lifecycle records"""


@dataclass
class Recorder:
    """Gathers records until they are taken."""

    job_names: list[str] = field(default_factory=list)
    node_names: list[str] = field(default_factory=list)
    steps_recorded: int = 0
    events_recorded: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)
    _nodes: dict[str, int] = field(default_factory=dict)
    _last_us: dict[str, int] = field(default_factory=dict)
    _events: Lifecycle = field(default_factory=list)
    _steps: list[StepTable] = field(default_factory=list)

    def event(self, at_us: int, **fields: Any) -> None:
        """Record a lifecycle event; fields that are None are left out."""
        self._events.append((at_us, {k: v for k, v in fields.items() if v is not None}))
        self.events_recorded += 1
        if "job" in fields:
            self._heard_of(fields["job"], at_us)

    def last_of(self, job: str) -> int:
        """When anything of a job was last recorded."""
        return self._last_us[job]

    def _heard_of(self, job: str, at_us: int) -> None:
        self._last_us[job] = max(self._last_us.get(job, at_us), at_us)

    def steps(self, job: str, attempt: int, arrays: StepArrays) -> None:
        """Record consecutive steps of an attempt."""
        n = len(arrays)
        self._heard_of(job, int(arrays.ts_us[-1]))
        number = self._number(job, self._numbers, self.job_names)
        node = np.full(n, -1, np.int32)
        if arrays.straggler_node is not None:
            node[:] = self._number(arrays.straggler_node, self._nodes, self.node_names)
        self._steps.append(
            StepTable(
                job=np.full(n, number, np.int32),
                attempt=np.full(n, attempt, np.int32),
                step=np.arange(arrays.first_step, arrays.first_step + n, dtype=np.int64),
                straggler_node=node,
                **{name: getattr(arrays, origin) for name, origin in _FROM_ARRAYS.items()},
            )
        )
        self.steps_recorded += n

    def take(self) -> tuple[Lifecycle, StepTable | None]:
        """All records since the last time, events by time."""
        events = sorted(self._events, key=lambda event: event[0])
        steps = joined(self._steps) if self._steps else None
        self._events, self._steps = [], []
        return events, steps

    @staticmethod
    def _number(name: str, numbers: dict[str, int], names: list[str]) -> int:
        if name not in numbers:
            numbers[name] = len(names)
            names.append(name)
        return numbers[name]
