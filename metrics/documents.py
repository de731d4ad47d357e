"""YAML documents checked against models, every fault with its line, its path and a hint.

Apart from `metrics.policy` because nothing here knows what the documents are about.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)
Loc = Sequence[int | str]


class Part(BaseModel):
    """A part of a document: keys that it does not know are refused, and truth is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _truth_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[str(info.field_name)].annotation
        if isinstance(value, bool) and bool not in (kind, *get_args(kind)):
            raise ValueError("must not be true or false (nor yes, no, on or off)")
        return value


@dataclass(frozen=True, order=True)
class Fault:
    """What is wrong, where: the line counts from 1, the path names keys and places in lists."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.message}"


@dataclass(frozen=True)
class Document:
    """One YAML document: what it says, and the nodes that know where each part stands."""

    data: Any
    node: yaml.Node

    def kind(self) -> str | None:
        """Its `kind`, where it is a mapping that names one."""
        found = self.data.get("kind") if isinstance(self.data, dict) else None
        return found if isinstance(found, str) else None

    def line(self, loc: Loc) -> int:
        """The line on which the part at `loc` stands, or else the closest part around it."""
        return 1 + int(_mark(self.node, list(loc)))

    def fault(self, loc: Loc, message: str) -> Fault:
        """A fault of the part at `loc`."""
        return Fault(self.line(loc), ".".join(map(str, loc)) or "document", message)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # what yaml is of, no stub tells
    """A loader that says where the value stands that its tag or its look promises in vain."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, ArithmeticError, LookupError, AttributeError, TypeError) as e:
            raise yaml.constructor.ConstructorError(None, None, str(e), node.start_mark) from e


def read_documents(text: str) -> list[Document]:
    """The documents in the text, empty ones left out.

    Raises yaml.YAMLError, and RecursionError for what is nested too deeply or contains itself.
    """
    loader = _Loader(text)
    found = []
    try:
        while loader.check_node():
            node = loader.get_node()
            found.append(Document(loader.construct_document(node), node))
    finally:
        loader.dispose()
    return [document for document in found if document.data is not None]


def checked(document: Document, model: type[Model]) -> tuple[Model | None, list[Fault]]:
    """The document as a model, or None and every fault that keeps it from being one."""
    twice = list(_keys_given_twice(document.node, []))
    faults = [document.fault(loc, "stands twice in one mapping; keep one") for loc in twice]
    if not isinstance(document.data, dict):
        return None, [document.fault([], "must be a mapping of keys to values")]
    try:
        return (None if faults else model.model_validate(document.data)), faults
    except ValidationError as e:
        found = e.errors()
        inside = {fault["loc"][:-depth] for fault in found for depth in range(1, len(fault["loc"]))}
        # A list is not too short because what stands in it has faults of its own.
        told = [f for f in found if not (f["type"] == "too_short" and f["loc"] in inside)]
        return None, faults + [_in_words(document, model, fault) for fault in told]


def closest(given: str, known: Sequence[str]) -> str:
    """`; did you mean X?` where a known name is close to the one given, else nothing."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _in_words(document: Document, model: type[BaseModel], fault: ErrorDetails) -> Fault:
    loc = fault["loc"]
    if fault["type"] == "extra_forbidden":
        around = _model_at(model, loc[:-1])
        hint = closest(str(loc[-1]), list(around.model_fields) if around else [])
        return document.fault(loc, f"no such key{hint}")
    said = _WORDS.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    return document.fault(loc, said)


_WORDS = {
    "missing": "is missing, and required",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
"""What a fault is called where its own message speaks of Python, by its type."""


def _model_at(model: type[BaseModel], loc: Loc) -> type[BaseModel] | None:
    found: type[BaseModel] | None = model
    for part in loc:
        if isinstance(part, int) or found is None:
            continue
        field = found.model_fields.get(part)
        found = _model_in(field.annotation) if field else None
    return found


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for arg in get_args(annotation) if (model := _model_in(arg))), None)


def _mark(node: yaml.Node, loc: list[int | str]) -> int:
    if not loc:
        return int(node.start_mark.line)
    part, *rest = loc
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return _mark(value, rest) if rest else int(key.start_mark.line)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return _mark(node.value[part], rest)
    return int(node.start_mark.line)


def _keys_given_twice(node: yaml.Node, loc: list[int | str]) -> Iterator[list[int | str]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                yield [*loc, name]
            seen.add(name)
            yield from _keys_given_twice(value, [*loc, name])
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            yield from _keys_given_twice(value, [*loc, place])
