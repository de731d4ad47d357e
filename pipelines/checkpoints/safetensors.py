"""safetensors: a length, a JSON header, then the tensors' bytes without a hole between them.

Read here, and not by the library, so that nothing is believed before it was held against the size
of the file (https://huggingface.co/docs/safetensors: Format).
"""

import json
from typing import Any

from pipelines.checkpoints.contents import Contents, Tensor, count_not_finite, data_size
from pipelines.checkpoints.source import Source
from pipelines.checkpoints.verdicts import Damage, Verdict, short

LARGEST_HEADER = 100_000_000
"""Bytes; the library refuses longer ones as well."""

DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "C64": "complex64",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F6_E2M3": "float6",
    "F6_E3M2": "float6",
    "F4": "float4",
    "BOOL": "bool",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("I", "int"), ("U", "uint"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip


def read(source: Source, place: str) -> Contents:
    """Read a file to its end. Raises Damage."""
    header, data = _header(source, source.size, place)
    metadata = header.pop("__metadata__", {})
    spans = sorted(_span(name, entry, place) for name, entry in header.items())
    _check_spans(spans, data, place)
    tensors = tuple(
        Tensor(name, dtype, shape, count_not_finite(source, end - begin, dtype, place))
        for begin, end, name, dtype, shape in spans
    )
    values = {f"__metadata__.{name}": str(value) for name, value in dict(metadata).items()}
    return Contents(tensors, dict(values))


Span = tuple[int, int, str, str, tuple[int, ...]]


def _header(stream: Source, size: int, place: str) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(stream.read(8), "little")
    if size < 8:
        raise Damage(Verdict.TRUNCATED, f"{place}: is {size} bytes long; a header begins with 8")
    if length > LARGEST_HEADER:
        text = f"{place}: says that its header takes {length:,} bytes"
        raise Damage(Verdict.OVERCLAIMED, text)
    if 8 + length > size:
        raise short(place, 8 + length, size)
    header = json.loads(stream.read(length), object_pairs_hook=lambda pairs: once(pairs, place))
    if not isinstance(header, dict):
        raise Damage(Verdict.UNREADABLE, f"{place}: its header is no object")
    return header, size - 8 - length


def once(pairs: list[tuple[str, Any]], place: str) -> dict[str, Any]:
    """An object of JSON. Raises Damage for a key that stands in it twice."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Damage(Verdict.NAMED_TWICE, f"{place}: {key!r} stands in it twice")
        found[key] = value
    return found


def _span(name: str, entry: dict[str, Any], place: str) -> Span:
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if any(type(n) is not int or n < 0 for n in (begin, end, *shape)):
        raise Damage(Verdict.UNREADABLE, f"{place}: {name}: offsets or shape are no counts")
    if entry["dtype"] not in DTYPES:
        raise Damage(Verdict.UNREADABLE, f"{place}: {name}: unknown type {entry['dtype']!r}")
    dtype = DTYPES[entry["dtype"]]
    if data_size(dtype, shape) != end - begin:
        raise Damage(
            Verdict.OVERCLAIMED if data_size(dtype, shape) > end - begin else Verdict.UNREADABLE,
            f"{place}: {name}: shape {shape} of {dtype} takes {data_size(dtype, shape):,} bytes,"
            f" its offsets hold {end - begin:,}",
        )
    return begin, end, name, dtype, shape


def _check_spans(spans: list[Span], data: int, place: str) -> None:
    at = 0
    for begin, end, name, *_ in spans:
        if begin != at:
            text = f"{place}: {name} begins at {begin:,}, what is before it ends at {at:,}"
            raise Damage(Verdict.UNREADABLE, text)
        at = end
    if at > data:
        raise short(place, at, data)
    if at < data:
        text = f"{place}: {data - at:,} bytes at its end belong to no tensor"
        raise Damage(Verdict.UNREADABLE, text)
