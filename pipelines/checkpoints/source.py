"""All that a test reads of a checkpoint goes through here: counted, limited, and at a pace.

A file is read once: what checks it takes its bytes from memory where they were read before, and its
SHA-256 is taken of the same bytes on the way. A library that loads it afterwards looks at what lies
around the tensors' data, and no further than `again` says. So what a test will read is known before
it begins (`reading`), and a file that is made to be read over and over is damage.
"""

import hashlib
import io
import os
import time
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.checkpoints.verdicts import Damage, Verdict

BLOCK = 8 << 20
"""Bytes read from a file at once."""

AHEAD, BEHIND = 16, 2
"""Blocks in memory: read ahead of what was read in order (an archive's directory), and after it."""

SMALL = 64 << 20
"""Bytes of a file that a library may read as a whole; of a larger one as much and a 16th of it."""


def again(size: int) -> int:
    """How much of a file of so many bytes is read a second time, at most, to load it."""
    return min(size, SMALL + size // 16)


def reading(size: int) -> int:
    """How much a test reads of a file of so many bytes, at most."""
    return size + again(size)


class Pace:
    """At most so many bytes a second, from any moment on; None: as fast as it goes."""

    def __init__(self, bytes_per_s: float | None = None) -> None:
        self._bytes_per_s, self._free_s = bytes_per_s, 0.0

    def takes(self, size: int) -> None:
        """Wait as long as these bytes take. Time in which nothing was read is not saved up."""
        if self._bytes_per_s:
            now_s = time.monotonic()
            self._free_s = max(self._free_s, now_s) + size / self._bytes_per_s
            time.sleep(self._free_s - now_s)


_pace = Pace()


def set_pace(bytes_per_s: float | None) -> None:
    """Read at this pace from now on, in this process."""
    global _pace
    _pace = Pace(bytes_per_s)


class TooMuch(Exception):
    """More would be read of a file than was said that it takes."""


class _File(io.RawIOBase):
    """A file that can be read from any place; `size`: what it had when the test began."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        left = max(self.size - self._at, 0)
        found = self._take(self._at, left if size < 0 else min(size, left))
        self._at += len(found)
        return found

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        found = self.read(len(view))
        view[: len(found)] = found
        return len(found)

    def _take(self, begin: int, size: int) -> bytes:
        """These bytes, fewer only where the file became shorter."""
        raise NotImplementedError


class Look(_File):
    """A file on disk, read as it is asked for, `most` bytes of it. Raises TooMuch."""

    def __init__(self, path: Path, size: int, most: int) -> None:
        super().__init__(size)
        self._file, self._most = path.open("rb", buffering=0), most
        self.fetched, self.is_spent = 0, False

    def close(self) -> None:
        self._file.close()
        super().close()

    def count(self, size: int) -> None:
        """Count what is about to be read, here or by somebody else, and wait until it may be."""
        self.is_spent = self.is_spent or self.fetched + size > self._most
        self.check()
        self.fetched += size
        _pace.takes(size)

    def check(self) -> None:
        """Raise TooMuch if more was asked for than may be read."""
        if self.is_spent:
            raise TooMuch(f"more than {self._most:,} bytes of it would be read")

    def _take(self, begin: int, size: int) -> bytes:
        self.count(size)
        found = os.pread(self._file.fileno(), size, begin)
        while 0 < len(found) < size:
            more = os.pread(self._file.fileno(), size - len(found), begin + len(found))
            if not more:
                break
            found += more
        return found


class Source(_File):
    """A file read in blocks, each once, as long as what is read of it goes from front to end.

    Blocks ahead of that stay in memory until it gets there; what is left out between is read too,
    once too much is ahead. Raises Damage where a file can only be read over and over.
    """

    def __init__(self, path: Path, size: int, place: str, hashed: bool = False) -> None:
        super().__init__(size)
        self._look, self._place = Look(path, size, size), place
        self._blocks: dict[int, bytes] = {}
        self._next, self._hash = 0, hashlib.sha256() if hashed else None

    def close(self) -> None:
        self._blocks.clear()
        self._look.close()
        super().close()

    @property
    def fetched(self) -> int:
        """The bytes read from the file so far."""
        return self._look.fetched

    def sha256(self) -> str | None:
        """The digest of all of it, None where none is wanted; reads what nobody has read yet."""
        if self._hash is None:
            return None
        while self._next * BLOCK < self.size:
            self._block(self._next)
        return self._hash.hexdigest()

    def _take(self, begin: int, size: int) -> bytes:
        found, end = [], begin + size
        while begin < end:
            number, inside = divmod(begin, BLOCK)
            part = self._block(number)[inside : inside + end - begin]
            if not part:
                break
            found.append(part)
            begin += len(part)
        return found[0] if len(found) == 1 else b"".join(found)

    def _block(self, number: int) -> bytes:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = self._fetched(number)
            self._advance()
            self._let_go(number)
            while len(self._blocks) > AHEAD and number > self._next:
                self._blocks[self._next] = self._fetched(self._next)
                self._advance()
                self._let_go(number)
        return block

    def _fetched(self, number: int) -> bytes:
        begin = number * BLOCK
        try:
            return self._look._take(begin, min(BLOCK, self.size - begin))
        except TooMuch as e:
            text = f"{self._place}: its parts overlap, or lie in no order to read them in: {e}"
            raise Damage(Verdict.BOMB, text) from e

    def _advance(self) -> None:
        """Hash what follows on what was read in order."""
        while (block := self._blocks.get(self._next)) is not None:
            if self._hash is not None:
                self._hash.update(block)
            self._next += 1

    def _let_go(self, number: int) -> None:
        """Keep what is ahead of the order, and what is near the block that is being read."""
        for other in list(self._blocks):
            if other < self._next - BEHIND and abs(other - number) > BEHIND:
                del self._blocks[other]


class Section(_File):
    """A range of a file as a file of its own."""

    def __init__(self, stream: BinaryIO | _File, begin: int, size: int) -> None:
        super().__init__(size)
        self._stream, self._begin = stream, begin

    def _take(self, begin: int, size: int) -> bytes:
        self._stream.seek(self._begin + begin)
        return self._stream.read(size)
