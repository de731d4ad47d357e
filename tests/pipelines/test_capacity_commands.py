"""`headway capacity` and `headway shares`: a small cluster whose figures can be checked on paper.

Two days from midnight on: a node of 8 GPUs with a job of nlp that ends after 36 hours, a spare of
8, an idle one of 4; and three hours of a job of vision on a node of another cluster.
"""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import harness
import pytest

from metrics.conventions import HOUR_US
from metrics.errors import UsageError
from metrics.policy import DEFAULT_POLICY_FILE
from pipelines.cli import app as command_line

BEGAN_US = 1_793_491_200 * 10**6
"""2026-11-01T00:00:00Z"""
SHARES = "shares: {nlp: 2, vision: 4, audio: 1}"


def node(hour: float, name: str, gpus: int, state: str, cluster: str = "east") -> dict[str, Any]:
    return event("node_state", hour, node=name, gpus=gpus, state=state, cluster=cluster)


def event(name: str, hour: float, **fields: Any) -> dict[str, Any]:
    return {"event": name, "ts_us": BEGAN_US + round(hour * HOUR_US), **fields}


def job(name: str, tenant: str, cluster: str, gpus: int, begin: int, end: int) -> list[Any]:
    return [
        event("job_submitted", begin, job=name, tier="batch", tenant=tenant, cluster=cluster),
        event("resources_allocated", begin, job=name, attempt=0, nodes=[f"{name}-node"], gpus=gpus),
        event("job_ended", end, job=name, outcome="completed"),
    ]


RECORDS = [
    node(0, "a-node", 8, "allocated"),
    node(36, "a-node", 8, "idle"),
    node(0, "spare", 8, "spare_for_restart"),
    node(0, "idle", 4, "idle"),
    node(45, "b-node", 2, "allocated", "west"),
    *job("a", "nlp", "east", 8, 0, 36),
    *job("b", "vision", "west", 2, 45, 48),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capacity")
    records = harness.write_jsonl(folder / "cluster.lifecycle.jsonl", RECORDS)
    home = folder / "home"
    home.mkdir()
    policy = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    assert "shares: {}" in policy
    (home / "slo.yaml").write_text(
        policy.replace("shares: {}", SHARES).replace("per_gpu_hour: 2.50", "per_gpu_hour: 2.00"),
        encoding="utf-8",
    )
    command_line(["ingest", str(records), "--home", str(home)], standalone_mode=False)
    return home


@pytest.fixture
def headway(home: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command on that home; what it printed."""

    def run(*words: str) -> str:
        capsys.readouterr()
        command_line([*words, "--home", str(home)], standalone_mode=False)
        return capsys.readouterr().out

    return run


def squeezed(text: str) -> str:
    return re.sub(r" +", " ", text)


def test_capacity_as_json_is_a_row_an_hour_category_and_component(headway: Any) -> None:
    rows = json.loads(headway("capacity", "--format", "json"))
    assert {tuple(row) for row in rows} == {("hour_us", "category", "component", "gpu_us")}
    sums: dict[int, int] = {}
    for row in rows:
        hour = (row["hour_us"] - BEGAN_US) // HOUR_US
        sums[hour] = sums.get(hour, 0) + row["gpu_us"]
    assert sums == {hour: (22 if hour >= 45 else 20) * HOUR_US for hour in range(48)}
    assert rows[0] == {
        "hour_us": BEGAN_US,
        "category": "idle",
        "component": "node",
        "gpu_us": 4 * HOUR_US,
    }


def test_capacity_as_csv_says_what_the_json_says(headway: Any) -> None:
    rows = json.loads(headway("capacity", "--format", "json"))
    found = list(csv.DictReader(io.StringIO(headway("capacity", "--format", "csv"))))
    assert [{k: str(v) for k, v in row.items()} for row in rows] == found


def test_the_table_has_dollars_on_every_row_and_the_two_named_figures(headway: Any) -> None:
    said = squeezed(headway("capacity"))
    # 36 × 8 + 3 × 2 of 48 × 20 + 3 × 2 = 966 GPU-hours; 48 × 8 spare; 48 × 4 + 12 × 8 idle.
    assert " uninstrumented run 294 30.4 % 588 " in said
    assert " spare_for_restart node 384 39.8 % 768 " in said
    assert " idle node 288 29.8 % 576 " in said
    assert " installed 966 100.0 % 1,932 " in said
    assert "busy share unknown: no job told of a step; allocated share 30.4 %" in said
    assert "39.8 % is on purpose (reserves, draining, maintenance)" in said
    assert " nlp 288 unknown 576 " in said and " vision 6 unknown 12 " in said


@pytest.mark.parametrize(
    ("options", "gpu_hours"),
    [
        (("--hours", "2"), 2 * 22),
        (("--days", "1"), 24 * 20 + 6),
        (("--days", "1", "--as-of", "2026-11-02T00:00:00Z"), 24 * 20),
        # An hour that as_of lies in counts whole.
        (("--hours", "1", "--as-of", "2026-11-02T22:30:00Z"), 22),
        (("--as-of", "2026-10-01T00:00:00Z"), 0),
        (("--scope", "cluster=west"), 6),
    ],
)
def test_a_span_and_a_cluster_can_be_chosen(
    headway: Any, options: tuple[str, ...], gpu_hours: int
) -> None:
    rows = json.loads(headway("capacity", *options, "--format", "json"))
    assert sum(row["gpu_us"] for row in rows) == gpu_hours * HOUR_US


@pytest.mark.parametrize(
    ("scope", "words"),
    [("tenant=nlp", "fleet or of cluster=NAME"), ("cluster=eas", "did you mean east?")],
)
def test_a_scope_that_holds_no_nodes_is_refused(headway: Any, scope: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        headway("capacity", "--scope", scope)


def test_without_any_node_state_what_is_installed_is_unknown(headway: Any) -> None:
    said = headway("capacity", "--as-of", "2026-10-01T00:00:00Z")
    assert "what is installed is unknown" in said


def test_shares_say_who_lent_to_whom_in_each_hour(headway: Any) -> None:
    rows = json.loads(headway("shares", "--format", "json"))
    assert len(rows) == 48 * 3
    first = {row["tenant"]: row for row in rows if row["hour_us"] == BEGAN_US}
    # nlp uses 8 of 2: 6 borrowed; vision leaves 4 and audio 1, so 5 are lent, and 1 nobody has.
    assert first["nlp"] == {
        "hour_us": BEGAN_US,
        "tenant": "nlp",
        "guaranteed_gpu_us": 2 * HOUR_US,
        "used_gpu_us": 8 * HOUR_US,
        "lent_gpu_us": 0,
        "unused_gpu_us": 0,
        "borrowed_gpu_us": 6 * HOUR_US,
    }
    assert first["vision"]["lent_gpu_us"] == 4 * HOUR_US
    assert first["audio"]["lent_gpu_us"] == HOUR_US


def test_shares_as_a_table_sum_over_the_span(headway: Any) -> None:
    said = squeezed(headway("shares"))
    assert " nlp 96 288 0 24 216 " in said
    # 48 × 4 guaranteed, 6 used in the last three hours; 36 × 4 lent, 42 left: 9 × 4 and 3 × 2.
    assert " vision 192 6 144 42 0 " in said
    assert "borrowed 216: 180 of what others left, 36 of what nobody is guaranteed" in said


def test_a_policy_without_shares_leaves_lent_and_borrowed_unknown(home: Path, headway: Any) -> None:
    kept = (home / "slo.yaml").read_text(encoding="utf-8")
    (home / "slo.yaml").write_text(kept.replace(SHARES, ""), encoding="utf-8")
    try:
        rows = json.loads(headway("shares", "--format", "json"))
        said = headway("shares")
    finally:
        (home / "slo.yaml").write_text(kept, encoding="utf-8")
    assert rows[0]["used_gpu_us"] == 8 * HOUR_US
    assert rows[0]["guaranteed_gpu_us"] is None and rows[0]["lent_gpu_us"] is None
    assert "guarantees nothing to anybody" in said
