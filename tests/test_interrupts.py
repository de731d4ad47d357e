"""What a signal does to `headway` before it has begun, and what was ignored from the beginning."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import services

from pipelines.up import _signals

ENDED_QUIETLY, ENDED_BY_ITSELF = -signal.SIGINT, 0
STUB = """
import os, signal
os.kill(os.getpid(), signal.SIGINT)
raise SystemExit(0)
"""


@pytest.mark.parametrize(
    ("before", "code"),
    [(signal.default_int_handler, ENDED_QUIETLY), (signal.SIG_IGN, ENDED_BY_ITSELF)],
    ids=["in the foreground", "ignored in the background"],
)
def test_ctrl_c_while_it_imports_shows_no_traceback(
    tmp_path: Path, before: object, code: int
) -> None:
    """What the command line imports is replaced by what presses Ctrl-C, and then ends."""
    (tmp_path / "typer.py").write_text(STUB, encoding="utf-8")
    words = ["-m", "pipelines", "validate"]
    done = subprocess.run(
        [sys.executable, *words],
        env=services.ENVIRONMENT | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{services.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),  # type: ignore[arg-type]
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_what_is_ignored_asks_for_no_end() -> None:
    """As `nohup` has it when the terminal goes."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _signals() as asked:
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
            assert asked == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, before)
