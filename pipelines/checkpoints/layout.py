"""Which files make up a checkpoint, and whether somebody still writes them."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.checkpoints import distributed, documents
from pipelines.checkpoints.source import reading
from pipelines.checkpoints.verdicts import Damage, Verdict, naming
from pipelines.ingest import UNFINISHED

MANIFEST = "headway.manifest.json"
"""The name of a manifest in a checkpoint's directory; beside a checkpoint of one file, its name
with `.headway.manifest.json` after it."""

_UNFINISHED_FOLDER = re.compile(r"^(tmp[-_.]|\.tmp|_tmp)|\.(tmp|part|partial|incomplete)$")
_UNFINISHED_FILE = re.compile(r"^\.(tmp|.+\.[A-Za-z0-9]{6}$)")
"""As rsync and others name what they have not renamed yet."""

_NUMBERED = re.compile(r"^(?P<stem>.+)-(?P<n>\d{5})-of-(?P<of>\d{5})(?P<end>\.\w+)$")


@dataclass(frozen=True)
class Layout:
    """A checkpoint's directory (or the one that its only file lies in) and its files in order."""

    root: Path
    files: tuple[str, ...]
    unfinished: tuple[str, ...]
    manifest: Path

    @classmethod
    def of(cls, path: Path) -> "Layout":
        """The layout of what lies at a path. Raises Damage."""
        with naming(str(path)):
            if not path.is_dir():
                _check(path, path.parent)
                beside = path.with_name(f"{path.name}.{MANIFEST}")
                writing: tuple[str, ...] = (path.name,) if path.name.endswith(UNFINISHED) else ()
                return cls(path.parent, (path.name,), writing, beside)
            root = path.resolve()
            found = sorted(_files(root))
        being = tuple(name for name in found if _is_unfinished(name))
        if _UNFINISHED_FOLDER.search(root.name):
            being = (*being, f"{root.name}/")
        files = tuple(name for name in found if name not in being and name != MANIFEST)
        return cls(root, files, being, root / MANIFEST)

    def path(self, name: str) -> Path:
        """Where a file lies."""
        return self.root / name

    def sizes(self) -> dict[str, int]:
        """The bytes of each file; 0 of one that is gone by now, as reading it will tell."""
        return {name: _size(self.path(name)) for name in self.files}

    @property
    def bytes(self) -> int:
        """The bytes of all its files."""
        return sum(self.sizes().values())

    @property
    def manifest_bytes(self) -> int:
        """The bytes of its manifest, 0 where it has none."""
        return _size(self.manifest)

    @property
    def reading(self) -> int:
        """How many bytes a test reads of it at most, its manifest among them."""
        return sum(map(reading, self.sizes().values())) + self.manifest_bytes


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _files(root: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(root, onerror=fail):
        for name in (*folders, *names):
            place = Path(folder) / name
            _check(place, root)
            if name in names:
                yield place.relative_to(root).as_posix()


def _check(place: Path, root: Path) -> None:
    """Raise Damage for a link that leads out of the directory, and for what is no file."""
    if place.is_symlink() and not place.exists():
        raise Damage(Verdict.SHARD_MISSING, f"{place.name} is a link to nothing")
    if place.is_symlink() and not place.resolve().is_relative_to(root.resolve()):
        raise Damage(Verdict.LINK_OUT, f"{place.name} leads to {place.resolve()}")
    mode = place.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Damage(Verdict.UNREADABLE, f"{place.name}: is no regular file")


def _is_unfinished(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.endswith((*UNFINISHED, ".incomplete")) or bool(_UNFINISHED_FILE.match(last))


def incomplete(layout: Layout, has_manifest: bool) -> list[Damage]:
    """Why a checkpoint is not complete yet, as far as its files' names tell."""
    found = [Damage(Verdict.BEING_WRITTEN, f"{name} is there") for name in layout.unfinished]
    parts = [name for name in layout.files if name.endswith(distributed.SUFFIX)]
    for folder in sorted({name.rpartition("/")[0] for name in parts}):
        metadata = f"{folder}/{distributed.METADATA}".lstrip("/")
        if metadata not in layout.files:
            text = f"{metadata} is not there; it is written once all parts are"
            found.append(Damage(Verdict.BEING_WRITTEN, text))
    if not has_manifest:
        found += _without_index(layout)
    return found


def _without_index(layout: Layout) -> Iterator[Damage]:
    """Numbered shards that neither an index nor a manifest names: the last may be still to come."""
    if any(name.endswith(documents.INDEX_SUFFIX) for name in layout.files):
        return
    series: dict[tuple[str, str, str], set[str]] = {}
    for name in layout.files:
        if told := _NUMBERED.match(name):
            series.setdefault((told["stem"], told["of"], told["end"]), set()).add(told["n"])
    for (stem, of, end), numbers in series.items():
        if len(numbers) < int(of):
            text = f"{stem}-…-of-{of}{end}: {len(numbers)} of {int(of)} shards, and no index"
            yield Damage(Verdict.BEING_WRITTEN, text)
