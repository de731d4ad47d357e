"""JSON beside the weights: a trainer's state, and indexes of which tensor lies in which file."""

import json
from typing import Any

from pipelines.checkpoints.contents import Contents
from pipelines.checkpoints.safetensors import once
from pipelines.checkpoints.source import Source
from pipelines.checkpoints.verdicts import Damage, Verdict

LARGEST = 256 << 20
"""Bytes; an index of a hundred thousand tensors has ten million."""

INDEX_SUFFIX = ".index.json"
DEPTH, WIDTH = 3, 1000
"""How deep and how far into a document keys are looked at."""


def contents(document: Any) -> Contents:
    """The keys of a document with their plain values."""
    values: dict[str, int | float | str | None] = {}
    _gather(document, "", 0, values)
    return Contents(values=values)


def load(source: Source, place: str) -> Any:
    """A document; raises Damage where an object has a key twice."""
    if source.size > LARGEST:
        raise Damage(Verdict.OVERCLAIMED, f"{place}: JSON of {source.size:,} bytes")
    return json.loads(source.read(), object_pairs_hook=lambda pairs: once(pairs, place))


def is_index(place: str) -> bool:
    """Whether a file of this name says which tensor lies in which file."""
    return place.endswith(INDEX_SUFFIX)


def weight_map(document: Any, place: str) -> dict[str, str]:
    """Which tensor lies in which file, as an index says. Raises Damage."""
    named = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(named, dict) or not all(isinstance(file, str) for file in named.values()):
        raise Damage(Verdict.UNREADABLE, f"{place}: has no weight_map of tensors to files")
    for file in named.values():
        if "/" in file or "\\" in file or file in ("", "..", "."):
            raise Damage(Verdict.LINK_OUT, f"{place}: names {file!r}, outside of its directory")
    return named


def _gather(found: Any, path: str, depth: int, values: dict[str, Any]) -> None:
    if isinstance(found, dict) and depth < DEPTH:
        for key, value in list(found.items())[:WIDTH]:
            _gather(value, f"{path}.{key}".lstrip("."), depth + 1, values)
    else:
        values[path] = found if isinstance(found, (int, float, str)) else None
