"""A restore test's verdict as a `restore_test` event: a file in the inbox, ingested like any other.

So a test needs no lock of the warehouse, and may run on any machine that has the home. The event
says names, checksums' verdicts, sizes and versions; never a value of the checkpoint.
"""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from answers.home import Home
from metrics.conventions import US_PER_S
from pipelines.checkpoints.choosing import Saved
from pipelines.records import MAX_TEXT

FOLDER = "restore-tests"
"""Below the inbox."""


def record(home: Home, saved: Saved, answer: dict[str, Any], ended_us: int) -> Path:
    """Write the event of one test; `answer` is as restore-test prints it. The new file."""
    event = {
        "event": "restore_test",
        "ts": _stamp(ended_us),
        "job": saved.job,
        "step": saved.step,
        "result": answer["result"],
        "checks": ",".join(f"{c['name']}={c['result']}" for c in answer["checks"])[:MAX_TEXT],
        "duration_s": answer["seconds"],
        "location": saved.location,
        "detail": _detail(saved, answer).encode("utf-8", "replace").decode()[:MAX_TEXT],
    }
    folder = home.root / "inbox" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{ended_us}-{name}.lifecycle.jsonl"
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(event) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)
    return path


def _detail(saved: Saved, answer: dict[str, Any]) -> str:
    """Bytes, throughput and lineage, then what failed."""
    told = {
        "bytes": answer["bytes"],
        "bytes_per_s": answer["bytes_per_s"],
        "code": saved.code_version or answer.get("code_version"),
        "data": saved.data_version or answer.get("data_version"),
    }
    parts = [f"{name}={value}" for name, value in told.items() if value is not None]
    failed = [f"{c['name']}: {c['detail']}" for c in answer["checks"] if c["result"] == "fail"]
    return "; ".join([" ".join(parts), *failed])


def _stamp(us: int) -> str:
    whole, rest = divmod(us, US_PER_S)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"
