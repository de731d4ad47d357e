"""Where records come from: one module a source, each a name in SOURCES.

A source turns one file into canonical records: dictionaries with the fields of the event
reference (`event`, `ts` as RFC 3339 text with an offset, durations in seconds), exactly as a
canonical `*.lifecycle.jsonl` or `*.steps.jsonl` line would hold them. Checking, allow-listing and
storing happen behind it, once for all sources. To add a source, write a module with a class that
satisfies `Source` and name it in SOURCES.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from metrics.errors import UsageError
from metrics.policy import Policy
from pipelines.privacy import Salt


@dataclass(frozen=True)
class Record:
    """One canonical record.

    `stream` is "lifecycle" or "steps"; `fields` are the record's fields as canonical JSON would
    hold them; `line` is the 1-based line of the file that it was read from.
    """

    stream: str
    fields: dict[str, Any]
    line: int | None = None


def record_of(fields: dict[str, Any], line: int) -> Record:
    """The canonical record of these fields: a step where it has no event, or one that is null."""
    return Record("steps" if fields.get("event") is None else "lifecycle", fields, line)


@dataclass(frozen=True)
class Reject:
    """Text that is no record: its line, why, and the text itself (shortened when stored)."""

    line: int | None
    reason: str
    text: str


@dataclass(frozen=True)
class Settings:
    """What the user said of the files.

    `timezone` holds for times without an offset; `columns` names the columns of a file without a
    header; `salt` is what user names are hashed with. Raises UsageError where the policy asks for
    that and there is none.
    """

    policy: Policy
    timezone: tzinfo = field(default_factory=lambda: ZoneInfo("UTC"))
    columns: tuple[str, ...] | None = None
    salt: Salt | None = None

    def __post_init__(self) -> None:
        if self.policy.privacy.hash_users and self.salt is None:
            raise UsageError("the policy hashes user names, and no salt was given")


class Source(Protocol):
    """What a source module offers."""

    name: str
    names_jobs_after_files: bool
    """Whether the same content under another name is another job."""

    def recognises(self, path: Path, head: str) -> bool:
        """Whether a file with this name, beginning with this text, is one of this source's."""
        ...

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        """Yield the file's records, and what in it is none.

        Raises UnreadableInput where the file as a whole makes no sense.
        """
        ...
