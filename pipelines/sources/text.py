"""Lines of a file, whatever is in it: gzip, torn ends, bytes that are no UTF-8, endless lines.

Every source that reads text reads it here, so that the same damage is always told the same way.
"""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from metrics.errors import UnreadableInput
from pipelines.sources import Reject

MAX_LINE_BYTES = 1 << 20
"""A record is metadata: a line longer than this is none, and is never held in memory whole."""

HEAD_BYTES = 1 << 16
"""How much of a file is read to tell what it is."""


def open_bytes(path: Path) -> BufferedIOBase:
    """Open a file for reading, through gzip where its first bytes say so.

    Raises UnreadableInput where the file cannot be opened.
    """
    try:
        with path.open("rb") as probe:
            zipped = probe.read(2) == b"\x1f\x8b"
        return gzip.open(path, "rb") if zipped else path.open("rb")
    except OSError as e:
        raise UnreadableInput(f"{path}: cannot be read ({e.strerror or e})") from e


def head(path: Path) -> str:
    """The beginning of a file as text, as far as it can be read; bad bytes are replaced."""
    start = b""
    with open_bytes(path) as file:
        try:
            while len(start) < HEAD_BYTES and (piece := file.read(1024)):
                start += piece
        except (OSError, EOFError, zlib.error):
            pass  # a torn archive: what came before it tells enough
    return start.decode("utf-8", "replace").removeprefix("\ufeff")


def lines(path: Path) -> Iterator[tuple[int, str] | Reject]:
    """Yield (line number from 1, text without its end) for each line that is not blank.

    A line that is no UTF-8 or longer than MAX_LINE_BYTES is yielded as a Reject in its place, and
    so is the point at which a truncated gzip stream breaks off.
    """
    with open_bytes(path) as file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline(MAX_LINE_BYTES + 1)
                if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    yield Reject(number, "line_too_long", raw[:200].decode("utf-8", "replace"))
                    _skip_line(file)
                    continue
            except (EOFError, OSError, zlib.error) as e:
                yield Reject(number, "truncated_file", str(e))
                return
            if not raw:
                return
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                yield Reject(number, "not_utf8", raw[:200].decode("utf-8", "replace"))
                continue
            if text.strip():
                yield number, text


def _skip_line(file: BufferedIOBase) -> None:
    while chunk := file.readline(MAX_LINE_BYTES):
        if chunk.endswith(b"\n"):
            return
