"""What a signal does to `headway` before it has begun, and what was ignored from the beginning."""

import os
import signal
import socket
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
    ("is_ignored", "code"),
    [(False, ENDED_QUIETLY), (True, ENDED_BY_ITSELF)],
    ids=["in the foreground", "ignored in the background"],
)
@pytest.mark.parametrize(
    ("words", "imported"),
    [(["pipelines", "validate"], "typer"), (["app", "127.0.0.1", "1"], "streamlit")],
    ids=["the command line", "the pages"],
)
def test_ctrl_c_while_it_imports_shows_no_traceback(
    tmp_path: Path, words: list[str], imported: str, is_ignored: bool, code: int
) -> None:
    """What is imported is replaced by what presses Ctrl-C, and then ends."""
    (tmp_path / f"{imported}.py").write_text(STUB, encoding="utf-8")
    before = signal.SIG_IGN if is_ignored else signal.SIG_DFL
    done = subprocess.run(
        [sys.executable, "-m", *words],
        env=services.ENVIRONMENT | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{services.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("command", ["app", "serve"])
def test_ctrl_c_ends_what_serves_in_order(tmp_path: Path, command: str) -> None:
    port = services.free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines", command, "--port", str(port)],
        env=services.ENVIRONMENT | {"HEADWAY_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        services.until(lambda: _listens(port), "the server to listen")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
    assert process.returncode == 0
    assert "Traceback" not in said


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_what_is_ignored_asks_for_no_end() -> None:
    """As `nohup` has it when the terminal goes."""
    # Of the process that runs this nobody knows what it was told to ignore.
    had = {
        number: signal.signal(number, way)
        for number, way in ((signal.SIGHUP, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL))
    }
    try:
        with _signals() as asked:
            # Raised by this thread, so that it has been heard when the next line runs.
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            assert asked == [signal.SIGTERM]
    finally:
        for number, way in had.items():
            signal.signal(number, way)
