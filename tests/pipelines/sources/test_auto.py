"""`--source auto`: which source a file belongs to, told from its content."""

from pathlib import Path

import pytest

from pipelines.sources.registry import recognise

LIFECYCLE = (
    '{"event": "job_ended", "ts": "2026-10-01T00:00:00Z", "job": "a", "outcome": "failed"}\n'
)
STEP = '{"job": "a", "attempt": 0, "step": 1, "ts": "2026-10-01T00:00:00Z", "duration_s": 1}\n'
SACCT = "JobID|State|Submit|Start|End\n1|COMPLETED|2026-10-01T00:00:00|Unknown|Unknown\n"
BARE_SACCT = (
    "1|1|train|prod|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:00:01|2026-10-01T00:00:02\n"
)
WAITING_SACCT = "PENDING|2026-10-01T00:00:00|Unknown|Unknown|7_[1-3]\n"
LONG = f'{{"event": "resources_allocated", "nodes": "{"node-1234 " * 50_000}"}}\n'
BREAKS = '{"event": "job_pending", "detail": "a\u2028b\u0085c\\u000ad\x7f\u2029"}'
MLLOG = ':::MLLOG {"key": "init_start", "time_ms": 1, "event_type": "INTERVAL_START"}\n'


@pytest.mark.parametrize(
    ("content", "source"),
    [
        (LIFECYCLE, "canonical"),
        (STEP, "canonical"),
        ("{torn\n" + STEP, "canonical"),
        ("event,ts,job,outcome\njob_ended,2026-10-01T00:00:00Z,a,failed\n", "canonical"),
        ("job,attempt,step,ts,duration_s\na,0,1,2026-10-01T00:00:00Z,1\n", "canonical"),
        (SACCT, "slurm"),
        (BARE_SACCT, "slurm"),
        (WAITING_SACCT, "slurm"),
        (LONG, "canonical"),
        (LONG[:-1], "canonical"),
        (BREAKS, "canonical"),
        ('{"job": "a", "step": 1, "loss": nan,}', "canonical"),
        (MLLOG, "mlperf"),
        ("57: " + MLLOG, "mlperf"),
        ("output of a program\r\n" + MLLOG, "mlperf"),
    ],
)
def test_a_source_recognises_its_files_by_content_alone(
    content: str, source: str, tmp_path: Path
) -> None:
    path = tmp_path / "anything"
    path.write_text(content, encoding="utf-8")
    found = recognise(path)
    assert found is not None and found.name == source


@pytest.mark.parametrize(
    "content",
    [
        *("", "\n\n", "# a readme\n", '{"some": "json"}\n', "a,b\n1,2\n", "x" * 2_000_000),
        "2026-10-01T00:00:00|INFO|7|FAILED to connect|again\n",
        "7|n1|n2|up|2026-10-01T00:00:00\n",
    ],
)
def test_a_file_of_no_source_is_recognised_by_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "sacct.lifecycle.jsonl.txt"
    path.write_text(content, encoding="utf-8")
    assert recognise(path) is None
