"""Files into the warehouse: each exactly once, each record exactly once, a file a transaction.

A file's records, its quarantine rows and the note that it was ingested are committed together.
`reading` takes a file apart, `storing` puts it into the tables.
"""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from answers.clock import now_us
from metrics.errors import UnknownKind, UnreadableInput, UsageError
from pipelines.reading import Batch, incoming_records, read
from pipelines.sources import Settings, Source
from pipelines.sources.registry import SOURCES, recognise
from pipelines.storing import count_lines, store_events, store_rejects, store_steps
from pipelines.warehouse import one_row, transaction

UNFINISHED = (".tmp", ".part", ".partial", ".swp", "~", ".crdownload")
"""Endings of files that somebody is still writing."""


@dataclass(frozen=True)
class Summary:
    """What became of one file's records.

    read = new + duplicate + quarantined, except that a record which stands for n steps is read
    once and new n times, and a stored step that a smaller one displaces is quarantined as well.
    """

    path: Path
    source: str
    read: int = 0
    new: int = 0
    duplicate: int = 0
    dropped_fields: int = 0
    quarantined: int = 0
    known: bool = False


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The complete files that the paths name: files as they are, folders with all below them.

    In folders, hidden files and those that somebody is still writing (UNFINISHED) are passed over.
    A folder that cannot be listed stands for itself. Raises UsageError for a path that does not
    exist.
    """
    found: list[Path] = []
    for path in paths:
        kind = _kind_of(path)
        if kind is None:
            raise UsageError(f"{path}: no such file or folder")
        found += sorted(_files_below(path)) if kind == stat.S_IFDIR else [path]
    return found


def _files_below(folder: Path) -> Iterator[Path]:
    """The complete files of a folder. Links are followed, but into no folder twice."""
    unlisted: list[str] = []
    entered: set[tuple[int, int]] = set()
    for root, folders, names in os.walk(
        folder, followlinks=True, onerror=lambda error: unlisted.append(error.filename)
    ):
        here = Path(root).stat()
        if (here.st_dev, here.st_ino) in entered:
            folders.clear()
            continue
        entered.add((here.st_dev, here.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        complete = (n for n in names if not n.startswith(".") and not n.endswith(UNFINISHED))
        found = (Path(root, name) for name in complete)
        yield from (path for path in found if _kind_of(path) in (stat.S_IFREG, _HIDDEN))
    yield from map(Path, unlisted)


_HIDDEN = 0


def _kind_of(path: Path) -> int | None:
    """What there is (see stat.S_IFMT); None where there is nothing, or a link to nothing or itself.

    It is _HIDDEN behind a folder that may not be entered: opening it will tell.
    """
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except PermissionError:
        return _HIDDEN
    except OSError:
        return None


def choose_source(name: str, path: Path) -> Source:
    """The source of that name, or for `auto` the one that recognises the file's content.

    Raises UsageError for an unknown name, UnreadableInput for what is no file, and UnknownKind
    where no source recognises it.
    """
    if name != "auto" and name not in SOURCES:
        raise UsageError(f"--source {name}: not one of auto, {', '.join(SOURCES)}")
    if _kind_of(path) in (stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK):
        raise UnreadableInput(
            f"{path}: is a pipe or a device; write what comes from it to a file, and ingest that"
        )
    if name != "auto":
        return SOURCES[name]
    source = recognise(path)
    if source is None and path.stat().st_size == 0:
        raise UnknownKind(f"{path}: is empty; there is nothing to ingest")
    if source is None:
        raise UnknownKind(
            f"{path}: no source recognises this file; if it is one of {', '.join(SOURCES)}, "
            "say so with --source"
        )
    return source


def ingest_file(
    con: duckdb.DuckDBPyConnection, path: Path, source: Source, settings: Settings
) -> Summary:
    """Store one file's records, all of them or, where it cannot be read, none.

    It is read while its digest is taken; where a file of its name was ingested before, it is most
    likely that file, and the digest comes first. Raises UnreadableInput, also where somebody still
    writes to it: then the digest may be of more than what was read, which would never be read.
    """
    known = Summary(path, source.name, known=True)
    state = _state_of(path)
    with ThreadPoolExecutor(max_workers=1) as beside, incoming_records(con):
        digested = beside.submit(_fingerprint, path, source, settings)
        if _holds(con, "path", _text_of(path)) and _holds(con, "fingerprint", digested.result()):
            return known
        batch = read(con, path, source, settings)
        if _holds(con, "fingerprint", digested.result()):
            return known
        if _state_of(path) != state:
            raise UnreadableInput(
                f"{path}: was changed while it was read; ingest it again when it is complete"
            )
        with transaction(con):
            return store(con, batch, digested.result(), path, source.name)


def _state_of(path: Path) -> tuple[int, int, int]:
    """What a file shows of being written to or replaced."""
    try:
        found = path.stat()
    except OSError as e:
        raise UnreadableInput(f"{path}: cannot be read ({e.strerror or e})") from e
    return found.st_ino, found.st_size, found.st_mtime_ns


def _holds(con: duckdb.DuckDBPyConnection, column: str, value: str) -> bool:
    """Whether a file was ingested of which that is said."""
    return bool(con.execute(f"from files where {column} = ? limit 1", [value]).fetchall())


def _text_of(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def store(
    con: duckdb.DuckDBPyConnection, batch: Batch, fingerprint: str, path: Path, source: str
) -> Summary:
    """Store what was read, with the note that it was; called inside a transaction."""
    (file_id,) = one_row(con, "select coalesce(max(file_id), 0) + 1 from files")
    events = store_events(con, file_id, batch.events)
    steps = store_steps(con, file_id)
    if batch.counts_records:
        count_lines(con, file_id, path)
    store_rejects(con, file_id, batch.rejects)
    summary = Summary(
        path,
        source,
        read=batch.read,
        new=events.new + steps.new,
        duplicate=events.duplicate + steps.duplicate,
        dropped_fields=batch.dropped_fields,
        quarantined=len(batch.rejects) + steps.conflicting + events.refused + steps.refused,
    )
    _note(con, file_id, fingerprint, summary)
    return summary


def _note(con: duckdb.DuckDBPyConnection, file_id: int, fingerprint: str, summary: Summary) -> None:
    con.execute(
        "insert into files by name select $file_id as file_id, $fingerprint as fingerprint,"
        " $path as path, $source as source, $now_us as ingested_at_us, $read as read_records,"
        " $new as new_records, $duplicate as duplicate_records, $dropped as dropped_fields,"
        " $quarantined as quarantined_records",
        {
            "file_id": file_id,
            "fingerprint": fingerprint,
            "path": _text_of(summary.path),
            "source": summary.source,
            "now_us": now_us(),
            "read": summary.read,
            "new": summary.new,
            "duplicate": summary.duplicate,
            "dropped": summary.dropped_fields,
            "quarantined": summary.quarantined,
        },
    )


def _fingerprint(path: Path, source: Source, settings: Settings) -> str:
    """Digest of the content and of all that decides what is read out of it."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError as e:
        raise UnreadableInput(f"{path}: cannot be read ({e.strerror or e})") from e
    tiers = [tier.model_dump(mode="json") for tier in settings.policy.tiers]
    said = [source.name, str(settings.timezone), settings.columns, tiers]
    digest.update(json.dumps(said).encode())
    if source.names_jobs_after_files:
        digest.update(os.fsencode(path.name))
    # Keyed where names are hashed: a digest of a small file would let a guess of a name be tried.
    return settings.salt.digest(digest.digest()) if settings.salt else digest.hexdigest()


@dataclass
class Ingested:
    """What became of the files: what was stored, could not be read, or was passed over."""

    summaries: list[Summary] = field(default_factory=list)
    failures: list[UnreadableInput] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)


def ingest(
    con: duckdb.DuckDBPyConnection,
    paths: list[Path],
    source_name: str,
    settings: Settings,
    on_files: Callable[[list[Path]], None] = lambda files: None,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Ingested:
    """Store each file that the paths name; one that cannot be read stops none of the others.

    A file that no source recognises is a failure where it was named itself, and passed over where
    it only lies in a folder that was. `on_files` is told the files, `on_file` each when it is done.
    Raises UsageError for a path that does not exist.
    """
    files = find_files(paths)
    on_files(files)
    done = Ingested()
    for path in files:
        try:
            source = choose_source(source_name, path)
            done.summaries.append(ingest_file(con, path, source, settings))
        except UnknownKind as e:
            if path in paths:
                done.failures.append(e)
            else:
                done.skipped.append(path)
        except UnreadableInput as e:
            done.failures.append(e)
        on_file(path)
    return done
