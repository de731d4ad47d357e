"""NumPy: `.npy`, and `.npz`, a zip of them. Arrays of objects are pickles, and are refused."""

import zipfile
from typing import IO

import numpy as np
from numpy.lib import format as npy

from pipelines.checkpoints.archives import in_order, vet
from pipelines.checkpoints.contents import ELEMENTS, Contents, Stream, Tensor, count_not_finite
from pipelines.checkpoints.source import Source
from pipelines.checkpoints.verdicts import Damage, Verdict, short


def read(source: Source, place: str, expansion: int) -> Contents:
    """Read a file to its end. Raises Damage, or what a parser of bad bytes raises."""
    if place.endswith(".npy"):
        name = place.rpartition("/")[2].removesuffix(".npy")
        return Contents((_read_array(source, source.size, name, place),))
    if not zipfile.is_zipfile(source):
        raise Damage(Verdict.TRUNCATED, f"{place}: is no whole zip archive")
    with zipfile.ZipFile(source) as archive:
        vet(archive, source.size, place, expansion)
        return Contents(tuple(_members(archive, place)))


def _members(archive: zipfile.ZipFile, place: str) -> list[Tensor]:
    found = []
    for entry in in_order(archive):
        with archive.open(entry) as stream:
            name = entry.filename.removesuffix(".npy")
            found.append(_read_array(stream, entry.file_size, name, f"{place}: {name}"))
    return found


def _read_array(stream: IO[bytes] | Source, size: int, name: str, place: str) -> Tensor:
    version = npy.read_magic(stream)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        text = f"{place}: an array of objects is a pickle, and is not read"
        raise Damage(Verdict.UNREADABLE, text)
    told, held = _bytes(shape, dtype), size - stream.tell()
    if told > held:
        raise short(place, told, held)
    if told < held:
        text = f"{place}: {held - told:,} bytes at its end belong to no array"
        raise Damage(Verdict.UNREADABLE, text)
    kind = dtype.name if dtype.name in ELEMENTS else "other"
    found = count_not_finite(stream, told, kind, place, _is_big(dtype))
    _drain(stream)
    return Tensor(name, kind, tuple(shape), found)


def _bytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    count = dtype.itemsize
    for length in shape:
        count *= int(length)
    return count


def _is_big(dtype: np.dtype) -> bool:
    return dtype.newbyteorder("=") != dtype


def _drain(stream: Stream) -> None:
    """Read the end: only there an archive compares its checksum."""
    stream.read(1)
