"""Planned maintenance in rows, for the pages that announce it."""

from collections.abc import Iterable, Mapping
from typing import Any

from app import format


def rows(planned: Iterable[Mapping[str, Any]], zone: str | None) -> list[dict[str, str]]:
    """When each window starts, in the reader's time too, for how long, and what it touches."""
    return [
        {
            "Window": row["id"],
            "Starts": format.moment(row["starts_us"], zone),
            "For": format.duration(row["ends_us"] - row["starts_us"])
            if row["ends_us"]
            else format.UNKNOWN,
            "Touches": row["touches"],
            "Detail": row["detail"] or "none given",
        }
        for row in planned
    ]
