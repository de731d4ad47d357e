"""How DuckDB reads a canonical file of steps whole, in whatever format it is."""

import re
from dataclasses import dataclass
from pathlib import Path

from pipelines.records import STEP_COLUMNS, STEP_TEXT_FIELDS

STEP_TYPES = {name: "varchar" if name in STEP_TEXT_FIELDS else "double" for name in STEP_COLUMNS}


@dataclass(frozen=True)
class Bulk:
    """How DuckDB reads a file of steps whole.

    `steps` is a query with the columns of parsed_steps, in the order of the file; it takes
    `parameters`, and raises where the file holds something that is no step. Of the fields outside
    the allow-list each record has `dropped_each`, and `dropped_fields` is a query that counts those
    that only some have, and the records that may hold a truth value (which DuckDB reads as a
    number, and which is none) or be of the other stream; None where there are none of them. Where
    `is_text`, lines may be read apart, and blank ones are passed over.
    """

    parameters: dict[str, str | int]
    steps: str
    dropped_fields: str | None = None
    dropped_each: int = 0
    is_text: bool = False


def unglobbed(path: Path) -> str:
    """The path as DuckDB's readers take it literally, whatever characters are in it."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))
