"""A full, read-only or failing disk, told as what it is, wherever in a run it shows."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from metrics.errors import StorageFault

_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "a file may not grow further; raise the limit on file sizes",
    errno.EROFS: "the file system is read-only; make it writable",
    errno.EACCES: "Headway may not write here; mend the permissions",
    errno.EPERM: "Headway may not write here; mend the permissions",
    errno.EIO: "the disk fails; see the system's log, and move the home to another disk",
}


@contextmanager
def storage_faults(place: Path) -> Iterator[None]:
    """Tell errors of the disk below `place` as StorageFault; others pass as they are."""
    try:
        yield
    except (OSError, duckdb.Error) as e:
        advice = _advice(e)
        if advice is None:
            raise
        raise StorageFault(
            f"{place}: {advice}, then run the same again. Nothing half done was kept, and what was "
            f"published last can still be read ({str(e).splitlines()[0]})"
        ) from e


def is_storage_fault(error: OSError | duckdb.Error) -> bool:
    """Whether the disk is at fault, and not what was read from it."""
    return _advice(error) is not None


def _advice(error: OSError | duckdb.Error) -> str | None:
    if isinstance(error, OSError):
        return _ADVICE.get(error.errno or 0)
    # DuckDB passes on what the system said, in a text only.
    text = str(error)
    return next((advice for code, advice in _ADVICE.items() if os.strerror(code) in text), None)
