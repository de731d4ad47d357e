"""torch.save: a zip of one pickle and a record a storage, read without torch.

The pickle is turned into nodes (see `pickles`); a storage's bytes are read to their end, so that
the archive's own checksum of them is compared as well. torch compresses nothing: what is compressed
was not written by it.
"""

import sys
import zipfile
from dataclasses import dataclass
from typing import Any

from pipelines.checkpoints import pickles
from pipelines.checkpoints.archives import in_order, vet
from pipelines.checkpoints.contents import (
    ELEMENTS,
    Contents,
    Tensor,
    chunks,
    count_not_finite,
    data_size,
)
from pipelines.checkpoints.pickles import Node, Stored
from pipelines.checkpoints.source import Section, Source
from pipelines.checkpoints.verdicts import Damage, Verdict, short

STORAGES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "Untyped": "uint8",
}
"""Types of elements by the classes of storages, each `torch.<name>Storage`."""

LONGEST_TEXT = 200
MOST_VALUES = 100_000
"""Beside its tensors; of a list of millions of indices the first tell what it is."""


@dataclass(frozen=True)
class View:
    """A tensor as the pickle says it: of which storage, and its elements there."""

    name: str
    storage: Stored
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int
    """Elements from `begin` to before `end` of the storage are the tensor's."""


def read(source: Source | Section, place: str, expansion: int) -> Contents:
    """Read an archive to its end. Raises Damage, or what a parser of bad bytes raises."""
    if not zipfile.is_zipfile(source):
        raise Damage(Verdict.TRUNCATED, f"{place}: is no whole zip archive of torch.save")
    with zipfile.ZipFile(source) as archive:
        vet(archive, source.size, place, expansion)
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:
                text = f"{place}: {entry.filename} is compressed; torch.save compresses nothing"
                raise Damage(Verdict.BOMB, text)
        return _read(archive, place)


def _read(archive: zipfile.ZipFile, place: str) -> Contents:
    found = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
    if len(found) != 1:
        raise Damage(Verdict.UNREADABLE, f"{place}: has {len(found)} data.pkl; torch writes one")
    folder = found[0].removesuffix("data.pkl")
    views, values, opaque = _contents(pickles.load(archive.read(found[0]), place), place)
    by_storage: dict[str, list[View]] = {}
    for view in views:
        by_storage.setdefault(f"{folder}data/{view.storage.key}", []).append(view)
    missing = sorted(by_storage.keys() - set(archive.namelist()))
    if missing:
        raise Damage(Verdict.TENSOR_MISSING, f"{place}: has no record {missing[0]}")
    byteorder = _byteorder(archive, folder)
    counts = {
        entry.filename: _read_record(
            archive, entry, by_storage.get(entry.filename, []), byteorder == "big", place
        )
        for entry in in_order(archive)
        if entry.filename != found[0]
    }
    tensors = tuple(
        Tensor(view.name, view.dtype, view.shape, counts[f"{folder}data/{view.storage.key}"])
        for view in views
    )
    return Contents(tensors, values, opaque, byteorder != sys.byteorder)


def _byteorder(archive: zipfile.ZipFile, folder: str) -> str:
    name = f"{folder}byteorder"
    return archive.read(name).decode() if name in archive.namelist() else "little"


def _contents(
    root: Any, place: str
) -> tuple[list[View], dict[str, int | float | str | None], tuple[str, ...]]:
    views: list[View] = []
    values: dict[str, int | float | str | None] = {}
    opaque: set[str] = set()
    for path, found in pickles.walk(root):
        if isinstance(found, Node) and found.symbol in pickles.WHOLE:
            views.append(_view(path or "tensor", found, place))
        elif isinstance(found, Node):
            values.setdefault(path, None)
            if not found.symbol.startswith("torch."):
                opaque.add(found.symbol)
        elif len(values) < MOST_VALUES:
            values[path] = _plain(found)
    return views, values, tuple(sorted(opaque))


def _plain(found: Any) -> int | float | str | None:
    if isinstance(found, str):
        return found[:LONGEST_TEXT]
    return found if isinstance(found, (int, float)) else None


def _view(name: str, node: Node, place: str) -> View:
    storage, offset, size, stride = node.args[:4]
    shape, strides = counts(size), counts(stride)
    if not isinstance(storage, Stored) or len(shape) != len(strides) or int(offset) < 0:
        raise Damage(Verdict.UNREADABLE, f"{place}: {name} is no tensor of a storage")
    given = [dtype_of(part) for part in node.args[4:]]
    dtype = next(filter(None, given), None) or _storage_dtype(storage.kind)
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    count = 0 if 0 in shape else last + 1
    return View(name, storage, dtype, shape, int(offset), int(offset) + count)


def counts(given: Any) -> tuple[int, ...]:
    """A shape: a tuple, or torch.Size of one."""
    parts = given.args[0] if isinstance(given, Node) else given
    if any(type(part) is not int or part < 0 for part in parts):
        raise ValueError("no shape")
    return tuple(parts)


def dtype_of(found: Any) -> str | None:
    """The type of elements that `torch.<name>` means, None where it is none."""
    symbol = pickles.symbol_of(found)
    if not symbol.startswith("torch."):
        return None
    name = symbol.removeprefix("torch.")
    return name if name in ELEMENTS else None


def _storage_dtype(symbol: str) -> str:
    name = symbol.rpartition(".")[2].removesuffix("Storage")
    return STORAGES.get(name, "other")


def _read_record(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    views: list[View],
    is_big: bool,
    place: str,
) -> int:
    """Read a record to its end; how many of its tensors' words are no finite number."""
    with archive.open(entry) as stream:
        if not views:
            for _ in chunks(stream, entry.file_size, place):
                pass
            return 0
        dtype, storage = views[0].dtype, views[0].storage
        _check_size(entry, views, place)
        width = ELEMENTS[dtype].bits // 8
        begin = min(view.begin for view in views) * width
        end = max(view.end for view in views) * width
        for _ in chunks(stream, begin, place):
            pass
        where = f"{place}: storage {storage.key}"
        found = count_not_finite(stream, end - begin, dtype, where, is_big)
        for _ in chunks(stream, entry.file_size - end, place):
            pass
        return found


def _check_size(entry: zipfile.ZipInfo, views: list[View], place: str) -> None:
    for view in views:
        where = f"{place}: {view.name}"
        told = data_size(_storage_dtype(view.storage.kind), (view.storage.count,))
        if told != entry.file_size:
            raise short(where, told, entry.file_size)
        ends = data_size(view.dtype, (view.end,))
        if ends > entry.file_size:
            raise short(where, ends, entry.file_size)
