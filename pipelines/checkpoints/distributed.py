"""torch.distributed.checkpoint: `.metadata` (a pickle) says where in which `.distcp` file each part
of each tensor lies; each part is an archive of torch.save. `.metadata` is written last.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipelines.checkpoints import pickles, zipped
from pipelines.checkpoints.contents import Contents, Tensor
from pipelines.checkpoints.pickles import Node
from pipelines.checkpoints.source import Section, Source
from pipelines.checkpoints.verdicts import Damage, Verdict, short

METADATA = ".metadata"
SUFFIX = ".distcp"


@dataclass(frozen=True)
class Part:
    """Where a part of a tensor lies, or a pickled value; `shape` is None for a value."""

    name: str
    file: str
    begin: int
    size: int
    dtype: str | None
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class Index:
    """What `.metadata` says: the parts by their file, and whole tensors with their shape."""

    parts: dict[str, list[Part]]
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)


def read_index(source: Source, place: str) -> Index:
    """Read `.metadata`. Raises Damage, or what a parser of bad bytes raises."""
    if source.size > pickles.LARGEST:
        raise Damage(Verdict.OVERCLAIMED, f"{place}: a pickle of {source.size:,} bytes")
    root = pickles.load(source.read(), place)
    told, stored = root.state["state_dict_metadata"], root.state["storage_data"]
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    wanted: dict[tuple[str, tuple[int, ...] | None], tuple[int, ...] | None] = {}
    for name, entry in told.items():
        if "chunks" not in (entry.state or {}):
            wanted[name, None] = None
            continue
        shape = zipped.counts(entry.state["size"])
        tensors[name] = (_dtype(entry), shape)
        for offsets, sizes in _chunks(name, entry, shape, place):
            wanted[name, offsets] = sizes
    parts = list(_parts(wanted, stored, tensors, place))
    by_file: dict[str, list[Part]] = {}
    for part in parts:
        by_file.setdefault(part.file, []).append(part)
    return Index(by_file, tensors)


def _dtype(entry: Node) -> str:
    found = entry.state["properties"].state
    parts = found.values() if isinstance(found, dict) else found
    return next(filter(None, map(zipped.dtype_of, parts)), "other")


def _chunks(
    name: str, entry: Node, shape: tuple[int, ...], place: str
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each part's offsets and sizes. Raises Damage where they do not make up the tensor."""
    found = [
        (zipped.counts(c.state["offsets"]), zipped.counts(c.state["sizes"]))
        for c in entry.state["chunks"]
    ]
    held = sum(math.prod(sizes) for _, sizes in found)
    inside = all(
        begin + size <= whole
        for offsets, sizes in found
        for begin, size, whole in zip(offsets, sizes, shape, strict=True)
    )
    if not inside or held < math.prod(shape):
        text = f"{place}: {name}: its parts hold {held:,} of {math.prod(shape):,} elements"
        raise Damage(Verdict.TENSOR_MISSING, text)
    if held > math.prod(shape) or len({offsets for offsets, _ in found}) < len(found):
        raise Damage(Verdict.NAMED_TWICE, f"{place}: {name}: its parts overlap")
    yield from found


def _parts(
    wanted: dict[tuple[str, tuple[int, ...] | None], tuple[int, ...] | None],
    stored: dict[Node, Node],
    tensors: dict[str, tuple[str, tuple[int, ...]]],
    place: str,
) -> Iterator[Part]:
    left = dict(wanted)
    for key, info in stored.items():
        name, offset = key.state["fqn"], key.state.get("offset")
        offsets = None if offset is None else zipped.counts(offset)
        if (name, offsets) not in left:
            raise Damage(Verdict.NAMED_TWICE, f"{place}: {name}: a part is stored twice")
        sizes = left.pop((name, offsets))
        if info.state.get("transform_descriptors"):
            raise Damage(Verdict.UNREADABLE, f"{place}: {name}: its bytes are transformed")
        file, begin, size = (info.state[k] for k in ("relative_path", "offset", "length"))
        dtype = tensors[name][0] if sizes is not None else None
        yield Part(name, str(file), int(begin), int(size), dtype, sizes)
    if left:
        name, offsets = next(iter(left))
        raise Damage(Verdict.TENSOR_MISSING, f"{place}: {name}: part at {offsets} is nowhere")


def read(source: Source, place: str, parts: Iterable[Part], expansion: int) -> Contents:
    """Read all parts that lie in a file, in the order in which they do. Raises Damage."""
    tensors: list[Tensor] = []
    values: dict[str, int | float | str | None] = {}
    opaque: set[str] = set()
    is_foreign, ended = False, 0
    for part in sorted(parts, key=lambda part: part.begin):
        where = f"{place}: {part.name}"
        if 0 <= part.begin < ended:
            raise Damage(Verdict.NAMED_TWICE, f"{where}: lies where another part does")
        ended = part.begin + part.size
        if part.begin < 0 or part.size < 0 or part.begin + part.size > source.size:
            raise short(where, part.begin + part.size, source.size)
        found = zipped.read(Section(source, part.begin, part.size), where, expansion)
        tensors += _of_part(part, found, where)
        opaque |= set(found.opaque)
        is_foreign |= found.is_foreign
        if part.shape is None:
            inside = {f"{part.name}.{key}".rstrip("."): v for key, v in found.values.items()}
            values |= inside or {part.name: None}
    return Contents(tuple(tensors), values, tuple(sorted(opaque)), is_foreign)


def _of_part(part: Part, found: Contents, where: str) -> list[Tensor]:
    if part.shape is None:
        return [
            Tensor(f"{part.name}.{t.name}", t.dtype, t.shape, t.not_finite) for t in found.tensors
        ]
    if len(found.tensors) != 1:
        raise Damage(Verdict.UNREADABLE, f"{where}: holds {len(found.tensors)} tensors, not one")
    (tensor,) = found.tensors
    if (tensor.dtype, tensor.shape) != (part.dtype, part.shape):
        raise Damage(
            Verdict.UNREADABLE,
            f"{where}: is {tensor.dtype} {tensor.shape}; .metadata says {part.dtype} {part.shape}",
        )
    return [Tensor(part.name, tensor.dtype, tensor.shape, tensor.not_finite)]


def writers(files: list[str]) -> int:
    """How many ranks wrote these files, named `__<rank>_<number>.distcp`."""
    return len({name.split("_")[2] for name in files if name.startswith("__")})
