"""The event reference in docs/ says what ingestion accepts, no more and no less."""

import re
from pathlib import Path

import harness
import pytest

from pipelines.records import EVENTS, FIELDS, STEP_COLUMNS, BadRecord, Event

TEXT = (Path(__file__).parents[1] / "docs" / "events.md").read_text(encoding="utf-8")
LIFECYCLE, STEPS = TEXT.split("## Step stream")
ROWS = re.findall(r"^\| (`.*?) \| (.*?) \| (.*?) \|$", LIFECYCLE, flags=re.MULTILINE)


def named(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([a-z_]+)`", cell))


def words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z_]+", text))


def test_it_has_every_event_with_its_fields() -> None:
    told = {}
    for events, fields, _ in ROWS:
        required, _, optional = fields.partition("[")
        told |= dict.fromkeys(named(events), Event(words(required), words(optional)))
    assert told == EVENTS


@pytest.mark.parametrize("field", ["cause", "reason", "state", "outcome"])
def test_it_has_every_value_that_a_field_may_have(field: str) -> None:
    ((listed,),) = {tuple(re.findall(rf"{field} is (?:one of )?(.*)", row[2])) for row in ROWS} - {
        ()
    }
    with pytest.raises(BadRecord) as refused:
        FIELDS[field]("no such value")
    assert words(listed.replace(" or ", ", ")) == words(str(refused.value).partition("of ")[2])


def test_it_has_every_field_of_a_step() -> None:
    rows = re.findall(r"^\| (`.*?) \|", STEPS, flags=re.MULTILINE)
    assert tuple(field for row in rows for field in named(row)) == STEP_COLUMNS


@pytest.mark.parametrize("stream", ["lifecycle", "steps"])
def test_its_examples_are_accepted(tmp_path: Path, stream: str) -> None:
    (example,) = re.findall(
        r"```json\n(.*?)```", {"lifecycle": LIFECYCLE, "steps": STEPS}[stream], re.S
    )
    path = tmp_path / f"example.{stream}.jsonl"
    path.write_text(example, encoding="utf-8")
    with harness.fresh_warehouse() as con:
        done = harness.ingest_one(con, path)
    assert (done.new, done.dropped_fields, done.quarantined) == (len(example.splitlines()), 0, 0)
