"""Pickles, read without running them: no class is imported, nothing is called.

Every class that a pickle names becomes a `Node` of that name, which keeps what it is given. So a
pickle can name whatever it likes; only what is known here is understood.
"""

import io
import pickle
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from pipelines.checkpoints.verdicts import Damage, Verdict

LARGEST = 512 << 20
"""Bytes of a pickle; tensors' data are not in it."""

TRANSPARENT = (
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
)
"""What only wraps its first argument."""

WHOLE = (
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
)
"""Tensors: leaves, whatever they were made from."""


class Node:
    """What a pickle wants made: of which class, from what, with which state."""

    symbol = ""

    def __new__(cls, *args: Any, **keywords: Any) -> "Node":
        made = super().__new__(cls)
        made.args, made.state, made.items = (*args, *keywords.values()), None, {}
        made.members = []
        return made

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Nothing: all is kept by then."""

    args: tuple[Any, ...]
    state: Any
    items: dict[Any, Any]
    members: list[Any]

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def append(self, value: Any) -> None:
        """A list's next member."""
        self.members.append(value)

    add = append

    def extend(self, values: Any) -> None:
        """A list's next members."""
        self.members.extend(values)


class Stored:
    """A storage outside of the pickle, by what the pickle says of it."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        kind, key, _, count = parts[1:5]
        self.kind = symbol_of(kind)
        self.key, self.count = str(key), int(count)


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self._known: dict[str, Any] = {"collections.OrderedDict": OrderedDict}

    def find_class(self, module: str, name: str, /) -> Any:
        symbol = f"{module}.{name}"
        if symbol not in self._known:
            self._known[symbol] = type("Node", (Node,), {"symbol": symbol})
        return self._known[symbol]

    def persistent_load(self, pid: Any) -> Stored:
        return Stored(pid)


def load(data: bytes, place: str) -> Any:
    """What a pickle describes. Raises Damage where it is too long, else what pickle raises."""
    if len(data) > LARGEST:
        raise Damage(Verdict.OVERCLAIMED, f"{place}: a pickle of {len(data):,} bytes")
    return _Reader(data).load()


def symbol_of(found: Any) -> str:
    """The class's name that a node was made of, or that it is."""
    return getattr(found, "symbol", "") or ""


def walk(root: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf with its path of keys, and every node; what is shared is walked into once."""
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", root)]
    while todo:
        path, found = todo.pop()
        while isinstance(found, Node) and found.symbol in TRANSPARENT and found.args:
            found = found.args[0]
        inside = _inside(found)
        if inside is None or isinstance(found, Node):
            yield path, found
        if inside is not None and id(found) not in seen:
            seen.add(id(found))
            todo += [(f"{path}.{key}" if path else str(key), value) for key, value in inside]


def _inside(found: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(found, dict):
        return [(_key(key), value) for key, value in found.items()]
    if isinstance(found, (list, tuple, set, frozenset)):
        return list(enumerate(found))
    if isinstance(found, Node) and found.symbol not in WHOLE:
        state = found.state if isinstance(found.state, dict) else {"state": found.state}
        parts = [*state.items(), *found.items.items(), *enumerate(found.members)]
        parts += enumerate(found.args)
        return [(_key(key), value) for key, value in parts if value is not None]
    return None


def _key(key: Any) -> str:
    return str(key) if isinstance(key, (str, int, float)) else type(key).__name__
