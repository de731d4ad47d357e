"""What a lifecycle record may hold: the event reference as data, and the check against it.

The fields named here are an allow-list. Anything else is dropped before it is stored, and counted,
so that telemetry holds metadata only. Times become integer microseconds (`_us`) here, once.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from metrics.conventions import CAUSES, NODE_STATES, US_PER_S
from metrics.moments import EARLIEST_US, LATEST_US, NoMoment, read_us

LONGEST_US = LATEST_US - EARLIEST_US
MAX_ATTEMPT = 2**31 - 1
MAX_STEP = 2**53 - 1
MAX_TEXT = 4096


class BadRecord(ValueError):
    """A record that cannot be stored; the message is the quarantine's reason."""


@dataclass(frozen=True)
class Checked:
    """A lifecycle record as stored: its columns (times in µs), and how many fields were dropped."""

    columns: dict[str, Any]
    dropped: int

    @property
    def key(self) -> str:
        """Identity of the record: a digest over all its fields, so that equal records are one."""
        return hashlib.blake2b(_CANON.encode(self.columns).encode(), digest_size=16).hexdigest()


_CANON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def time_us(value: object) -> int:
    """Microseconds since 1970 UTC of RFC 3339 text with an offset; digits past µs are cut off.

    Raises BadRecord for anything else, and outside the years 2000 to 2099.
    """
    if not isinstance(value, str):
        raise BadRecord("not a timestamp")
    try:
        return read_us(value)
    except NoMoment as e:
        raise BadRecord(str(e)) from e


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or "_" in str(value):
        raise BadRecord("not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError) as e:
        raise BadRecord("not a number") from e
    if not math.isfinite(number):
        raise BadRecord("not a finite number")
    return number


def _duration_us(value: object) -> int:
    us = _number(value) * US_PER_S
    if not 0 <= us <= LONGEST_US:
        raise BadRecord("not a possible duration")
    return round(us)


def _integer(largest: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        number = _number(value)
        if number != math.floor(number):
            raise BadRecord("not a whole number")
        if not 0 <= number <= largest:
            raise BadRecord("out of range")
        return int(number)

    return convert


def plain_text(value: object) -> str:
    """A name or a short text, whole numbers taken as such. Raises BadRecord for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadRecord("not text")
    text = str(value)
    if not text or "\0" in text or len(text) > MAX_TEXT or not _is_encodable(text):
        raise BadRecord("empty, or no text that can be stored")
    return text


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _one_of(*allowed: str) -> Callable[[object], str]:
    def convert(value: object) -> str:
        if value not in allowed:
            raise BadRecord(f"not one of {', '.join(allowed)}")
        return str(value)

    return convert


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise BadRecord("not true or false")


_PRINTED_LIST = re.compile(r"\[\s*(?:'[^']*'[\s,]*)*\]")
"""A list as Python prints it, which is what becomes of it in a table that is written as CSV."""


def _names(value: object) -> list[str]:
    if isinstance(value, str) and _PRINTED_LIST.fullmatch(value):
        value = re.findall("'([^']*)'", value)
    elif isinstance(value, str):
        value = json.loads(value) if value.startswith("[") else value.replace(",", " ").split()
    if not isinstance(value, (list, tuple)):
        raise BadRecord("not a list of names")
    return sorted({plain_text(name) for name in value})


_COUNT = _integer(MAX_STEP)

FIELDS: dict[str, Callable[[object], Any]] = {
    "job": plain_text,
    "cluster": plain_text,
    "attempt": _integer(MAX_ATTEMPT),
    "step": _COUNT,
    "tier": plain_text,
    "tenant": plain_text,
    "user": plain_text,
    "name": plain_text,
    "gpus": _COUNT,
    "expected_duration_s": _duration_us,
    "checkpoint_interval_s": _duration_us,
    "expected_step_s": _duration_us,
    "code_version": plain_text,
    "data_version": plain_text,
    "detail": plain_text,
    "nodes": _names,
    "node": plain_text,
    "location": plain_text,
    "deliberate": _flag,
    "blocking": _flag,
    "bytes": _COUNT,
    "grace_s": _duration_us,
    "by_job": plain_text,
    "outcome": _one_of("completed", "failed", "cancelled"),
    "id": plain_text,
    "starts": time_us,
    "ends": time_us,
    "jobs": _names,
    "change": plain_text,
    "scope": plain_text,
    "gpus_gathered": _COUNT,
    "for_job": plain_text,
    "preemptible": _flag,
    "result": _one_of("pass", "fail"),
    "checks": plain_text,
    "duration_s": _duration_us,
    "cause": _one_of(*CAUSES),
    "reason": _one_of(
        "quota",
        "gang_size",
        "topology",
        "power",
        "priority",
        "dependency",
        "maintenance",
        "user_hold",
        "other",
    ),
    "state": _one_of(*NODE_STATES),
}
"""Every field of the lifecycle stream besides `event` and `ts`, and how its value is read."""


@dataclass(frozen=True)
class Event:
    """One row of the event reference: fields that must be there, fields that may."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


_WINDOW = ("jobs", "nodes", "detail")

EVENTS: dict[str, Event] = {
    "job_submitted": Event(
        ("job", "tier"),
        (
            "tenant",
            "user",
            "name",
            "gpus",
            "expected_duration_s",
            "checkpoint_interval_s",
            "expected_step_s",
            "code_version",
            "data_version",
        ),
    ),
    "job_pending": Event(("job", "reason"), ("detail",)),
    "resources_allocated": Event(("job", "attempt"), ("nodes", "gpus")),
    "data_staged": Event(("job", "attempt")),
    "process_started": Event(("job", "attempt")),
    "checkpoint_loaded": Event(("job", "attempt", "step"), ("location", "deliberate")),
    "interruption": Event(("job", "attempt", "cause"), ("node", "detail")),
    "checkpoint_started": Event(("job", "attempt", "step"), ("blocking",)),
    "checkpoint_completed": Event(("job", "attempt", "step"), ("bytes", "location")),
    "checkpoint_failed": Event(("job", "attempt", "step"), ("detail",)),
    "phase_started": Event(("job", "attempt", "name")),
    "phase_ended": Event(("job", "attempt", "name")),
    "preemption_signal": Event(("job", "attempt", "grace_s"), ("by_job",)),
    "job_suspended": Event(("job",)),
    "job_resumed": Event(("job",)),
    "job_ended": Event(("job", "outcome")),
    "maintenance_planned": Event(("id", "starts", "ends"), _WINDOW),
    "maintenance_started": Event(("id",), _WINDOW),
    "maintenance_ended": Event(("id",), _WINDOW),
    "change_started": Event(("id", "change"), ("scope", "nodes", "detail")),
    "change_ended": Event(("id", "change"), ("scope", "nodes", "detail")),
    "node_state": Event(("node", "gpus", "state")),
    "reservation_started": Event(("job", "gpus_gathered")),
    "reservation_updated": Event(("job", "gpus_gathered")),
    "reservation_ended": Event(("job", "gpus_gathered")),
    "backfill_started": Event(("job", "for_job", "gpus", "preemptible")),
    "backfill_ended": Event(("job", "for_job", "gpus", "preemptible")),
    "restore_test": Event(
        ("job", "step", "result"), ("checks", "duration_s", "location", "detail")
    ),
}
"""The event reference of the lifecycle stream."""


def column(field_name: str) -> str:
    """The stored name of a field: durations and times say that they are microseconds."""
    if field_name.endswith("_s"):
        return field_name.removesuffix("_s") + "_us"
    return field_name + "_us" if FIELDS.get(field_name) is time_us else field_name


def check_lifecycle(fields: Mapping[str, Any]) -> Checked:
    """Check one lifecycle record against the reference; null fields count as absent.

    Raises BadRecord with a reason such as `missing field attempt`, `bad field step: out of range`.
    """
    name = fields.get("event")
    event = EVENTS.get(name) if isinstance(name, str) else None
    if event is None:
        raise BadRecord("unknown event")
    columns: dict[str, Any] = {"event": name, "ts_us": _read("ts", time_us, fields.get("ts"))}
    for field_name in (*event.required, *event.optional, "cluster"):
        value = fields.get(field_name)
        if value is None:
            if field_name in event.required:
                raise BadRecord(f"missing field {field_name}")
            continue
        columns[column(field_name)] = _read(field_name, FIELDS[field_name], value)
    allowed = {"event", "ts", "cluster", *event.required, *event.optional}
    return Checked(columns, dropped=len(fields.keys() - allowed))


def _read(name: str, convert: Callable[[object], Any], value: object) -> Any:
    if value is None:
        raise BadRecord(f"missing field {name}")
    try:
        return convert(value)
    except BadRecord as e:
        raise BadRecord(f"bad field {name}: {e}") from e
    except ValueError as e:
        raise BadRecord(f"bad field {name}: cannot be read") from e


STEP_FIELDS = (
    "job",
    "attempt",
    "step",
    "ts",
    "duration_s",
    "data_wait_s",
    "straggler_s",
    "checkpoint_s",
    "overhead_s",
    "straggler_node",
    "steps",
    "cluster",
)
"""The allow-list of the step stream."""

STEP_TEXT_FIELDS = ("job", "ts", "straggler_node")
"""Those of its fields that are text; the others are numbers."""

STEP_COLUMNS = tuple(name for name in STEP_FIELDS if name != "cluster")
"""Those of its fields that are read (a job's cluster is that of its submission)."""

UNKNOWN_EVENT_FIELDS = ("event", "ts", "job", "attempt", "cluster")
"""What may be kept of a lifecycle record whose event nobody knows."""


def allowed_fields(fields: Mapping[str, Any]) -> str:
    """What quarantine may keep of a record that is none, as JSON.

    Only the fields that its own kind of record may have, so that what would have been dropped from
    a good record is not kept of a bad one.
    """
    kept = {k: fields[k] if _is_plain(fields[k]) else "…" for k in _allowed(fields) if k in fields}
    return json.dumps(kept, ensure_ascii=True, default=str)[:MAX_TEXT]


def _allowed(fields: Mapping[str, Any]) -> tuple[str, ...]:
    name = fields.get("event")
    if name is None:
        return STEP_FIELDS
    event = EVENTS.get(name) if isinstance(name, str) else None
    if event is None:
        return UNKNOWN_EVENT_FIELDS
    return ("event", "ts", "cluster", *event.required, *event.optional)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, (str, int)) for item in value)
    return value is None or isinstance(value, (str, int, float, bool))
