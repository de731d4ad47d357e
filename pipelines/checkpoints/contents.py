"""What a file of a checkpoint holds, and how its bytes are read: in chunks, at a pace."""

import io
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import numpy as np

from pipelines.checkpoints.verdicts import short

CHUNK = 8 << 20
"""Bytes read at once: all the memory that a tensor's data take, whatever its size."""


@dataclass(frozen=True)
class Element:
    """A type of element: its bits, and by which bits of a word it is no finite number.

    `word` bytes are compared at a time: not finite where word & mask == value; mask 0: all finite.
    """

    bits: int
    word: int = 1
    mask: int = 0
    value: int = 0

    @classmethod
    def ieee(cls, bits: int, word: int, exponent: int) -> "Element":
        """NaN and infinity have all bits of the exponent set (IEEE 754, section 3.4)."""
        return cls(bits, word, exponent, exponent)


ELEMENTS = {
    "float64": Element.ieee(64, 8, 0x7FF0_0000_0000_0000),
    "float32": Element.ieee(32, 4, 0x7F80_0000),
    "float16": Element.ieee(16, 2, 0x7C00),
    "bfloat16": Element.ieee(16, 2, 0x7F80),
    "complex128": Element.ieee(128, 8, 0x7FF0_0000_0000_0000),
    "complex64": Element.ieee(64, 4, 0x7F80_0000),
    "float8_e5m2": Element.ieee(8, 1, 0x7C),
    "float8_e4m3fn": Element(8, 1, 0x7F, 0x7F),  # no infinity; NaN is all ones (OCP FP8, 2023)
    "float8_e5m2fnuz": Element(8, 1, 0xFF, 0x80),
    "float8_e4m3fnuz": Element(8, 1, 0xFF, 0x80),
    "float8_e8m0fnu": Element(8, 1, 0xFF, 0xFF),
    "float4": Element(4),
    "float6": Element(6),
    **{f"{sign}int{bits}": Element(bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "bool": Element(8),
    "other": Element(8),
}
"""Types of elements by their names."""


@dataclass(frozen=True)
class Tensor:
    """A tensor that was read to its end: its name in the checkpoint, and what its header says."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    not_finite: int = 0
    """How many of its elements are NaN or infinite."""

    @property
    def is_float(self) -> bool:
        """Whether it holds numbers that may be no number."""
        return ELEMENTS[self.dtype].mask != 0


@dataclass(frozen=True)
class Contents:
    """What a file holds: tensors, and values beside them by their path of keys."""

    tensors: tuple[Tensor, ...] = ()
    values: dict[str, int | float | str | None] = field(default_factory=dict)
    """None where it is no number and no text: that it is there is known, not what it is."""
    opaque: tuple[str, ...] = ()
    """Classes named by pickles that nothing here knows; never imported."""


class Stream(Protocol):
    """What a part of a file is read through."""

    def read(self, size: int, /) -> bytes: ...


class Pace:
    """At most so many bytes a second, on average since it began; None: as fast as it goes."""

    def __init__(self, bytes_per_s: float | None = None) -> None:
        self._bytes_per_s = bytes_per_s
        self._began_s, self._read = time.monotonic(), 0

    def took(self, read: int) -> None:
        """Wait until this much more may have been read."""
        self._read += read
        if self._bytes_per_s:
            ahead_s = self._read / self._bytes_per_s - (time.monotonic() - self._began_s)
            if ahead_s > 0:
                time.sleep(ahead_s)


_pace = Pace()


def set_pace(bytes_per_s: float | None) -> None:
    """Read at this pace from now on, in this process."""
    global _pace
    _pace = Pace(bytes_per_s)


def chunks(stream: Stream, size: int, place: str) -> Iterator[bytes]:
    """The next `size` bytes of a stream, piece by piece. Raises Damage where it ends before."""
    left = size
    while left:
        chunk = stream.read(min(CHUNK, left))
        if not chunk:
            raise short(place, size, size - left)
        _pace.took(len(chunk))
        left -= len(chunk)
        yield chunk


def count_not_finite(
    stream: Stream, size: int, dtype: str, place: str, big_endian: bool = False
) -> int:
    """Read `size` bytes of a tensor to their end; how many of its words are no finite number."""
    element = ELEMENTS[dtype]
    kind = np.dtype(f"{'>' if big_endian else '<'}u{element.word}")
    found, rest = 0, b""
    for chunk in chunks(stream, size, place):
        if not element.mask:
            continue
        chunk = rest + chunk
        whole = len(chunk) // element.word * element.word
        words = np.frombuffer(chunk, kind, whole // element.word)
        found += int(np.count_nonzero((words & kind.type(element.mask)) == element.value))
        rest = chunk[whole:]
    return found


def data_size(dtype: str, shape: tuple[int, ...]) -> int:
    """The bytes that a tensor takes."""
    return -(-math.prod(shape) * ELEMENTS[dtype].bits // 8)


class Section(io.RawIOBase):
    """A range of a file as a file of its own."""

    def __init__(self, stream: BinaryIO, begin: int, size: int) -> None:
        super().__init__()
        self._stream, self._begin, self._size, self._place = stream, begin, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._place = base + offset
        return self._place

    def read(self, size: int = -1, /) -> bytes:
        left = max(self._size - self._place, 0)
        self._stream.seek(self._begin + self._place)
        found = self._stream.read(left if size < 0 else min(size, left))
        self._place += len(found)
        return found

    def readinto(self, buffer: Any, /) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
