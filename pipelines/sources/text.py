"""Lines of a file, whatever is in it: gzip, torn ends, bytes that are no UTF-8, endless lines.

Every source that reads text reads it here, so that the same damage is always told the same way.
"""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BufferedReader
from pathlib import Path

from metrics.errors import UnreadableInput
from pipelines.sources import Reject

MAX_LINE_BYTES = 1 << 20
"""A record is metadata: a line longer than this is none, and is never held in memory whole."""

HEAD_BYTES = 1 << 16
"""How much of a file is read to tell what it is; more where its first line is longer."""

Line = tuple[int, str] | Reject
"""A line's number from 1 and its text without its end, or what is wrong with it."""


def is_gzip(path: Path) -> bool:
    """Whether the file's first bytes are those of an archive. Raises as open_bytes does."""
    with _open(path) as file:
        return file.read(2) == b"\x1f\x8b"


def is_damaged_gzip(path: Path) -> bool:
    """Whether an archive breaks off, or differs from its checksum; False for what is none.

    DuckDB reads past a checksum that does not fit. It takes a pass over the whole file.
    """
    if not is_gzip(path):
        return False
    with open_bytes(path) as file:
        try:
            while file.read(MAX_LINE_BYTES):
                pass
        except (EOFError, OSError, zlib.error):
            return True
    return False


def open_bytes(path: Path) -> BufferedIOBase:
    """Open a file for reading, through gzip where its first bytes say so.

    Raises UnreadableInput where the file cannot be opened.
    """
    return gzip.open(path, "rb") if is_gzip(path) else _open(path)


def _open(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as e:
        raise UnreadableInput(f"{path}: cannot be read ({e.strerror or e})") from e


def head(path: Path) -> str:
    """The beginning of a file as text, as far as it can be read; bad bytes are replaced."""
    start = bytearray()
    wanted = MAX_LINE_BYTES
    with open_bytes(path) as file:
        try:
            while len(start) < wanted and (piece := file.read1(1024)):
                start += piece
                if b"\n" in piece:
                    wanted = HEAD_BYTES
        except (OSError, EOFError, zlib.error):
            pass  # a torn archive: what came before it tells enough
    return start.decode("utf-8", "replace").removeprefix("\ufeff")


def first_line(text: str) -> str:
    """The first line that is not blank; it ends at a line feed, for text may hold other breaks."""
    return next((line.strip("\r") for line in text.split("\n") if line.strip()), "")


def lines(path: Path) -> Iterator[Line]:
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
