"""What was read here is loaded by its own library as well, where that is installed.

So a file that only Headway takes for good is found. Only files that were found whole get here:
their sizes were held against the file, so that a library is not led out of its buffers. torch
unpickles with weights_only.
"""

import importlib
import pickle
import warnings
from pathlib import Path
from typing import Any

from pipelines.checkpoints.contents import Section
from pipelines.checkpoints.distributed import Part
from pipelines.checkpoints.verdicts import Damage, Verdict

EXTRA = "pip install 'headway[checkpoints]'"

LIBRARIES = {"torch": "torch", "distributed": "torch", "safetensors": "safetensors"}
"""The library of each format that has one; NumPy's is read by NumPy itself."""


class NotLoaded(Exception):
    """The library was not asked, or refused for a reason that is no damage; the text says why."""


def load(path: Path, place: str, kind: str, parts: tuple[Part, ...]) -> str:
    """Load a file by its library; which it was. Raises NotLoaded, Damage or what the library does.

    Tensors' data stay on disk (mapped), or are those of one part at a time.
    """
    name = LIBRARIES[kind]
    try:
        library = importlib.import_module(name)
    except ImportError as e:
        raise NotLoaded(f"{name} is not installed ({EXTRA}): Headway alone read its files") from e
    if kind == "safetensors":
        _open_safetensors(library, path)
    elif kind == "torch":
        _load_torch(library, path, place, mmap=True)
    else:
        _load_parts(library, path, place, parts)
    return f"{name} {library.__version__}"


def _open_safetensors(library: Any, path: Path) -> None:
    with library.safe_open(path, framework="numpy") as opened:
        for name in opened.keys():  # noqa: SIM118 (it is no mapping)
            opened.get_slice(name).get_shape()


def _load_parts(torch: Any, path: Path, place: str, parts: tuple[Part, ...]) -> None:
    with path.open("rb") as stream:
        for part in parts:
            section = Section(stream, part.begin, part.size)
            _load_torch(torch, section, f"{place}: {part.name}", mmap=False)


def _load_torch(torch: Any, source: Any, place: str, mmap: bool) -> None:
    try:
        with warnings.catch_warnings(action="ignore"):  # its hints are for who wrote the file
            torch.load(source, map_location="cpu", mmap=mmap, weights_only=True)
    except pickle.UnpicklingError as e:
        text = f"{place}: torch's weights_only refuses classes in it, which were not made"
        raise NotLoaded(text) from e
    except Exception as e:
        said = str(e).splitlines()[0][:200] if str(e) else type(e).__name__
        raise Damage(Verdict.UNREADABLE, f"{place}: torch does not load it: {said}") from e
