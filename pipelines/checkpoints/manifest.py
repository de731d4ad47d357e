"""A checkpoint's manifest: each file's size and SHA-256 when it was complete. Written last.

It is the marker of completeness: every file is on disk, synced, before the manifest gets its name.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metrics.errors import HeadwayError
from pipelines.checkpoints import documents
from pipelines.checkpoints.contents import CHUNK
from pipelines.checkpoints.layout import Layout, incomplete
from pipelines.checkpoints.source import Source
from pipelines.checkpoints.verdicts import Damage, Verdict, naming


class Covered(BaseModel):
    """A file as it was: bytes, and the SHA-256 of its content."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bytes: int = Field(ge=0)
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """What a checkpoint consists of. `holds`: state that is in it under unusual names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Literal[1] = 1
    step: int | None = Field(default=None, ge=0)
    job: str | None = None
    code_version: str | None = None
    data_version: str | None = None
    ranks: int | None = Field(default=None, ge=1)
    holds: tuple[str, ...] = ()
    files: dict[str, Covered]


def read_manifest(layout: Layout) -> Manifest | None:
    """The checkpoint's manifest, None where it has none. Raises Damage."""
    place = layout.manifest.name
    if not layout.manifest.exists():
        return None
    with naming(place):
        with Source(layout.manifest, layout.manifest.stat().st_size, place) as source:
            data = documents.load(source, place)
        told = data.pop("sha256", None)
        try:
            found = Manifest.model_validate(data)
        except ValidationError as e:
            raise Damage(Verdict.UNREADABLE, f"{place}: {e.errors()[0]['msg']}") from e
        if told != _digest(found):
            raise Damage(Verdict.CHECKSUM, f"{place}: is not as it was written")
        return found


def write_manifest(
    path: Path, about: dict[str, object], on_bytes: Callable[[int, str], None]
) -> tuple[Path, Manifest]:
    """Write the manifest of the checkpoint at a path; `about` is what else it says.

    `on_bytes` is told how much was read of which file. Raises HeadwayError for a checkpoint that
    is not complete or cannot be read.
    """
    try:
        layout = Layout.of(path)
        for damage in incomplete(layout, has_manifest=False):
            raise damage
        if not layout.files:
            raise Damage(Verdict.NOTHING_THERE, f"{path}: holds no file")
        for name in layout.files:
            if not name.isprintable():  # what is no UTF-8 would be told under another name
                raise Damage(Verdict.UNREADABLE, f"{name!a} is no name that can be printed")
        files = {name: _covered(layout.path(name), name, on_bytes) for name in layout.files}
        with naming(layout.manifest.name):
            manifest = Manifest.model_validate({**about, "files": files})
            _replace(layout.manifest, _text(manifest))
    except Damage as e:
        raise HeadwayError(f"{path}: {e}; no manifest was written") from e
    return layout.manifest, manifest


def _covered(path: Path, place: str, on_bytes: Callable[[int, str], None]) -> Covered:
    digest, size = hashlib.sha256(), 0
    with naming(place), path.open("rb") as stream:
        os.fsync(stream.fileno())
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            on_bytes(len(chunk), place)
    return Covered(bytes=size, sha256=digest.hexdigest())


def _digest(manifest: Manifest) -> str:
    return hashlib.sha256(manifest.model_dump_json().encode()).hexdigest()


def _text(manifest: Manifest) -> str:
    told = manifest.model_dump(mode="json") | {"sha256": _digest(manifest)}
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def _replace(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(3)}.tmp")
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
