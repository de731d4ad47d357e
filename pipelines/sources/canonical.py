"""Canonical lifecycle and step files: JSONL (also gzipped), Parquet and CSV, as they are.

A file of steps can hold a hundred million records, so DuckDB reads those whole (`bulk_steps`);
`read` goes line by line, for everything else and for what the bulk reader could not make sense of.
"""

from collections.abc import Iterator
from pathlib import Path

from pipelines.sources import Record, Reject, Settings
from pipelines.sources.canonical_bulk import Bulk
from pipelines.sources.canonical_csv import is_csv_header, read_csv
from pipelines.sources.canonical_json import bulk_json, json_record, value_of
from pipelines.sources.canonical_parquet import bulk_parquet, read_parquet
from pipelines.sources.text import first_line, head, lines


class Canonical:
    """The source of canonical files."""

    name = "canonical"
    names_jobs_after_files = False

    def recognises(self, path: Path, head: str) -> bool:
        """Parquet, JSON objects with an event or a step, or CSV with the columns of either."""
        return head.startswith("PAR1") or is_csv_header(first_line(head)) or _looks_canonical(head)

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        """Yield the file's records one by one. Raises UnreadableInput for a broken Parquet file."""
        if _is_parquet(path):
            yield from read_parquet(path)
        elif _is_csv(path):
            yield from read_csv(path)
        else:
            for line in lines(path):
                yield line if isinstance(line, Reject) else json_record(*line)

    @staticmethod
    def parse(numbered: list[tuple[int, str]]) -> Iterator[Record | Reject]:
        """Records of lines of JSON, given with their numbers."""
        return (json_record(number, text) for number, text in numbered)

    def bulk_steps(self, path: Path) -> list[Bulk]:
        """Ways to read the file in bulk, each to be tried where those before it raise.

        There is none where it is no file of steps, or no format for it.
        """
        if _is_parquet(path):
            return bulk_parquet(path)
        if _is_csv(path) or not _holds_steps(path):
            return []
        return bulk_json(path)


def _looks_canonical(head: str) -> bool:
    # The last line of a head is usually cut, and the first may be torn: any good one decides.
    for line in head.split("\n")[:50]:
        try:
            record = value_of(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and ("event" in record or {"job", "step"} <= record.keys()):
            return True
    return False


def _is_parquet(path: Path) -> bool:
    return head(path).startswith("PAR1")


def _is_csv(path: Path) -> bool:
    return is_csv_header(first_line(head(path)))


def _holds_steps(path: Path) -> bool:
    if ".lifecycle." in path.name:
        return False
    return ".steps." in path.name or '"event"' not in first_line(head(path))
