"""Reading a checkpoint's files on a few processes, each within a limit of memory.

A process that a file kills (or that runs out of its memory) is a verdict about that file, and takes
nothing else with it.
"""

import multiprocessing
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from metrics.errors import HeadwayError
from pipelines.checkpoints import arrays, distributed, documents, libraries, safetensors, zipped
from pipelines.checkpoints.contents import Contents
from pipelines.checkpoints.distributed import Index, Part
from pipelines.checkpoints.source import Look, Source, again, set_pace
from pipelines.checkpoints.verdicts import Damage, Verdict, naming

MEMORY = 4 << 30
"""Bytes of memory that a reading process may take; tensors' data pass through in chunks."""

_ZIP = b"PK\x03\x04"
_TORCH_SUFFIXES = (".pt", ".pth", ".ckpt")


@dataclass(frozen=True)
class Task:
    """A file to read, of `size` bytes when the test began; `parts`: what `.metadata` says of it."""

    root: Path
    file: str
    size: int
    digest: bool
    expansion: int
    parts: tuple[Part, ...] = ()
    kind: str | None = None
    """The format that it was read as."""


@dataclass(frozen=True)
class Outcome:
    """What reading a file gave: its size and digest, what is in it, or what is wrong with it.

    `read`: how many bytes of it were read from disk.
    """

    file: str
    bytes: int = 0
    read: int = 0
    sha256: str | None = None
    contents: Contents | None = None
    index: Index | None = None
    weight_map: dict[str, str] | None = None
    """Which tensor lies in which file, where it is such an index."""
    kind: str | None = None
    """The format whose tensors were read."""
    damage: Damage | None = None
    library: str | None = None
    """Which one loaded it as well."""
    note: str | None = None
    """Why none did, where that is no damage."""


def format_of(source: Source, place: str) -> str | None:
    """The format of a file; None where it has none of those read here."""
    by_suffix = {
        ".safetensors": "safetensors",
        ".npy": "numpy",
        ".npz": "numpy",
        ".json": "json",
        distributed.SUFFIX: "distributed",
    }
    name = PurePath(place).name
    if name == distributed.METADATA:
        return "metadata"
    if (suffix := PurePath(name).suffix) in by_suffix:
        return by_suffix[suffix]
    if suffix in _TORCH_SUFFIXES or name.startswith("pytorch_model"):
        return "torch"
    is_zip = source.read(len(_ZIP)) == _ZIP
    source.seek(0)
    return "torch" if is_zip else None


def read_file(task: Task) -> Outcome:
    """Read one file to its end, once."""
    path, outcome = task.root / task.file, Outcome(task.file, task.size)
    try:
        with naming(task.file), Source(path, task.size, task.file, task.digest) as source:
            before = path.stat()
            outcome = _read(source, task)
            after = path.stat()
            if (after.st_size, after.st_mtime_ns) != (task.size, before.st_mtime_ns):
                raise Damage(Verdict.CHANGED, f"{task.file}: somebody writes it")
            return outcome
    except Damage as e:
        return replace(outcome, contents=None, index=None, damage=e)


def _read(source: Source, task: Task) -> Outcome:
    """What is in it and its digest, which damage does not keep from being told."""
    sha256 = None
    try:
        with naming(task.file):
            found = _parsed(source, task)
    except Damage as e:
        found = Outcome(task.file, damage=e)
    try:
        with naming(task.file):
            sha256 = source.sha256()
    except Damage as e:
        found = Outcome(task.file, damage=found.damage or e)
    return replace(found, bytes=task.size, read=source.fetched, sha256=sha256)


def _parsed(source: Source, task: Task) -> Outcome:
    kind, place = format_of(source, task.file), task.file
    # A rank that holds nothing writes an empty part; its index says whether it does.
    if kind not in (None, "distributed") and not task.size:
        raise Damage(Verdict.TRUNCATED, f"{place}: is empty, 0 bytes long")
    if kind == "safetensors":
        contents = safetensors.read(source, place)
    elif kind == "torch":
        contents = zipped.read(source, place, task.expansion)
    elif kind == "numpy":
        contents = arrays.read(source, place, task.expansion)
    elif kind == "json":
        told = documents.load(source, place)
        named = documents.weight_map(told, place) if documents.is_index(place) else None
        return Outcome(place, contents=documents.contents(told), weight_map=named)
    elif kind == "metadata":
        return Outcome(place, index=distributed.read_index(source, place))
    elif kind == "distributed" and task.parts:
        contents = distributed.read(source, place, task.parts, task.expansion)
    else:
        return Outcome(place)
    return Outcome(place, contents=contents, kind=kind)


def load_file(task: Task) -> Outcome:
    """Load one file by the library of its format."""
    path, outcome = task.root / task.file, Outcome(task.file)
    try:
        with naming(task.file), Look(path, task.size, again(task.size)) as look:
            try:
                library = libraries.load(path, look, task.file, str(task.kind), task.parts)
                outcome = replace(outcome, library=library)
            except libraries.NotLoaded as e:
                outcome = replace(outcome, note=str(e))
            except Damage as e:
                outcome = replace(outcome, damage=e)
            return replace(outcome, read=look.fetched)
    except Damage as e:
        return replace(outcome, damage=e)


def _begin(bytes_per_s: float | None, memory: int | None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory or hard, hard))
    set_pace(bytes_per_s)


Work = Callable[[Task], Outcome]


class Readers:
    """A few processes that work on files; none at all: this process does, without a limit.

    `memory` in bytes; None where files are mapped, which would count. `may_repeat`: whether what
    was being read when a process was killed may be read anew.
    """

    def __init__(
        self,
        processes: int,
        work: Work,
        bytes_per_s: float | None = None,
        memory: int | None = MEMORY,
        may_repeat: bool = True,
    ) -> None:
        self._processes, self._work, self._may_repeat = processes, work, may_repeat
        self._bytes_per_s, self._memory = bytes_per_s, memory
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Readers":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def read(self, tasks: list[Task], on_file: Callable[[Outcome], None]) -> dict[str, Outcome]:
        """Read each file, the largest share of the work first; `on_file` is told each."""
        found = {}
        for outcome in self._outcomes(tasks):
            found[outcome.file] = outcome
            on_file(outcome)
        return found

    def _outcomes(self, tasks: list[Task]) -> Iterator[Outcome]:
        if not self._processes:
            yield from map(self._work, tasks)
            return
        futures, broken = self._submitted(tasks), []
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                broken.append(futures[future])
        if broken:
            self._pool = None
        if len(broken) == 1:
            file = broken[0].file
            text = f"{file}: the process that read it was killed: out of memory?"
            size, damage = broken[0].size, Damage(Verdict.UNREADABLE, text)
            yield Outcome(file, size, read=size, damage=damage)
        elif broken:
            yield from self._anew(broken)

    def _anew(self, broken: list[Task]) -> Iterator[Outcome]:
        """One of these killed the process of the others: each by itself, counted as read twice."""
        if not self._may_repeat:
            raise HeadwayError(
                f"a process that read {broken[0].file} or a file beside it was killed (out of"
                " memory?); reading them anew would be more than bytes_per_run"
            )
        for task in broken:
            for outcome in self._outcomes([task]):
                yield replace(outcome, read=outcome.read + task.size)

    def _submitted(self, tasks: list[Task]) -> dict[Future[Outcome], Task]:
        if self._pool is None:
            # Spawned: whoever tests restores may have threads, which a fork would not survive.
            self._pool = ProcessPoolExecutor(
                self._processes,
                multiprocessing.get_context("spawn"),
                _begin,
                (self._bytes_per_s and self._bytes_per_s / self._processes, self._memory),
            )
        return {self._pool.submit(self._work, task): task for task in tasks}
