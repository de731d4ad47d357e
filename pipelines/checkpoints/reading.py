"""Reading a checkpoint's files on a few processes, each within a limit of memory.

A process that a file kills (or that runs out of its memory) is a verdict about that file, and takes
nothing else with it.
"""

import hashlib
import multiprocessing
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from pipelines.checkpoints import arrays, distributed, documents, libraries, safetensors, zipped
from pipelines.checkpoints.contents import Contents, chunks, set_pace
from pipelines.checkpoints.distributed import Index, Part
from pipelines.checkpoints.verdicts import Damage, Verdict, naming

MEMORY = 4 << 30
"""Bytes of memory that a reading process may take; tensors' data pass through in chunks."""

_ZIP = b"PK\x03\x04"
_TORCH_SUFFIXES = (".pt", ".pth", ".ckpt")


@dataclass(frozen=True)
class Task:
    """A file to read; `parts` where `.metadata` says what lies in it."""

    root: Path
    file: str
    digest: bool
    expansion: int
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What reading a file gave: its size and digest, what is in it, or what is wrong with it."""

    file: str
    bytes: int = 0
    sha256: str | None = None
    contents: Contents | None = None
    index: Index | None = None
    damage: Damage | None = None
    library: str | None = None
    """Which one loaded it as well."""
    note: str | None = None
    """Why none did, where that is no damage."""


def format_of(path: Path) -> str | None:
    """The format of a file; None where it has none of those read here. Raises OSError."""
    by_suffix = {
        ".safetensors": "safetensors",
        ".npy": "numpy",
        ".npz": "numpy",
        ".json": "json",
        distributed.SUFFIX: "distributed",
    }
    if path.name == distributed.METADATA:
        return "metadata"
    if path.suffix in by_suffix:
        return by_suffix[path.suffix]
    if path.suffix in _TORCH_SUFFIXES or path.name.startswith("pytorch_model"):
        return "torch"
    with path.open("rb") as stream:
        return "torch" if stream.read(4) == _ZIP else None


def read_file(task: Task) -> Outcome:
    """Read one file to its end."""
    path, size, sha256 = task.root / task.file, 0, None
    try:
        with naming(task.file):
            before = path.stat()
            size = before.st_size
            if task.digest:
                sha256 = _digest(path, size, task.file)
            outcome = Outcome(task.file, size, sha256, *_read(path, task))
            after = path.stat()
            if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise Damage(Verdict.CHANGED, f"{task.file}: somebody writes it")
            return outcome
    except Damage as e:
        return Outcome(task.file, size, sha256, damage=e)


def load_file(task: Task) -> Outcome:
    """Load one file by the library of its format, if it has one."""
    path = task.root / task.file
    try:
        with naming(task.file):
            kind = format_of(path)
            if kind not in libraries.LIBRARIES:
                return Outcome(task.file)
            try:
                library = libraries.load(path, task.file, kind, task.parts)
            except libraries.NotLoaded as e:
                return Outcome(task.file, note=str(e))
            return Outcome(task.file, library=library)
    except Damage as e:
        return Outcome(task.file, damage=e)


def _read(path: Path, task: Task) -> tuple[Contents | None, Index | None]:
    kind = format_of(path)
    if kind == "safetensors":
        return safetensors.read(path, task.file), None
    if kind == "torch":
        return zipped.read(path, task.file, task.expansion), None
    if kind == "numpy":
        return arrays.read(path, task.file, task.expansion), None
    if kind == "json":
        return documents.read(path, task.file), None
    if kind == "metadata":
        return None, distributed.read_index(path, task.file)
    if kind == "distributed" and task.parts:
        return distributed.read(path, task.file, list(task.parts), task.expansion), None
    return None, None


def _digest(path: Path, size: int, place: str) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for chunk in chunks(stream, size, place):
            digest.update(chunk)
    return digest.hexdigest()


def _begin(bytes_per_s: float | None, memory: int | None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory or hard, hard))
    set_pace(bytes_per_s)


Work = Callable[[Task], Outcome]


class Readers:
    """A few processes that work on files; none at all: this process does, without a limit.

    `memory` in bytes; None where files are mapped, which would count.
    """

    def __init__(
        self,
        processes: int,
        work: Work,
        bytes_per_s: float | None = None,
        memory: int | None = MEMORY,
    ) -> None:
        self._processes, self._work = processes, work
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
            yield Outcome(file, damage=Damage(Verdict.UNREADABLE, text))
            return
        for task in broken:  # one of them killed the others' process: each by itself
            yield from self._outcomes([task])

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
