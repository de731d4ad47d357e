"""What a file of a checkpoint holds, and how its tensors are read: in chunks."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

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
    is_foreign: bool = False
    """Whether its numbers are in another order of bytes than this machine's."""


class Stream(Protocol):
    """What a part of a file is read through."""

    def read(self, size: int, /) -> bytes: ...


def chunks(stream: Stream, size: int, place: str) -> Iterator[bytes]:
    """The next `size` bytes of a stream, piece by piece. Raises Damage where it ends before."""
    left = size
    while left:
        chunk = stream.read(min(CHUNK, left))
        if not chunk:
            raise short(place, size, size - left)
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
