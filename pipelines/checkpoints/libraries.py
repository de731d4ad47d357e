"""What was read here is loaded by its own library as well, where that is installed.

So a file that only Headway takes for good is found. Only files that were found whole get here:
their sizes were held against the file, so that a library is not led out of its buffers. torch
unpickles with weights_only. Tensors' data were read and compared before, and stay on disk: torch
makes tensors on its device `meta`, which have none, and safetensors maps the file.
"""

import importlib
import io
import pickle
import warnings
from pathlib import Path
from typing import Any

from pipelines.checkpoints.distributed import Part
from pipelines.checkpoints.source import SMALL, Look, Section, TooMuch
from pipelines.checkpoints.verdicts import Damage, Verdict

EXTRA = "pip install 'headway[checkpoints]'"

LIBRARIES = {"torch": "torch", "distributed": "torch", "safetensors": "safetensors"}
"""The library of each format that has one; NumPy's is read by NumPy itself."""


class NotLoaded(Exception):
    """The library was not asked, or refused for a reason that is no damage; the text says why."""


def load(path: Path, look: Look, place: str, kind: str, parts: tuple[Part, ...]) -> str:
    """Load a file by its library; which it was. Raises NotLoaded, Damage or what the library does.

    What it reads of the file is counted by `look`, which is of the same file.
    """
    name = LIBRARIES[kind]
    try:
        library = importlib.import_module(name)
    except ImportError as e:
        raise NotLoaded(f"{name} is not installed ({EXTRA}): Headway alone read its files") from e
    try:
        if kind == "safetensors":
            _open_safetensors(library, path, look)
        else:
            _load_parts(library, look, place, parts)
    except TooMuch as e:
        raise NotLoaded(f"{place}: {name} was not asked: {e}") from e
    return f"{name} {library.__version__}"


def _open_safetensors(library: Any, path: Path, look: Look) -> None:
    look.count(int.from_bytes(look.read(8), "little"))  # the header, which the library maps
    with library.safe_open(path, framework="numpy") as opened:
        for name in opened.keys():  # noqa: SIM118 (it is no mapping)
            opened.get_slice(name).get_shape()


def _load_parts(torch: Any, look: Look, place: str, parts: tuple[Part, ...]) -> None:
    """Load each part of a file, or all of it where it has none."""
    stream = io.BytesIO(look.read()) if look.size <= SMALL else look
    if not parts:
        _load_torch(torch, stream, look, place)
    for part in parts:
        section = Section(stream, part.begin, part.size)
        _load_torch(torch, section, look, f"{place}: {part.name}")


def _load_torch(torch: Any, stream: Any, look: Look, place: str) -> None:
    try:
        with warnings.catch_warnings(action="ignore"):  # its hints are for who wrote the file
            torch.load(stream, map_location="meta", weights_only=True)
    except pickle.UnpicklingError as e:
        text = f"{place}: torch's weights_only refuses classes in it, which were not made"
        raise NotLoaded(text) from e
    except Exception as e:
        look.check()  # torch tells what its stream raised in words of its own
        said = str(e).splitlines()[0][:200] if str(e) else type(e).__name__
        raise Damage(Verdict.UNREADABLE, f"{place}: torch does not load it: {said}") from e
