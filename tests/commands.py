"""The command line as tests ask it: in this process, or in one of its own as a user does.

In this process wherever that proves as much: importing the product takes longer than answering.
"""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from pipelines.cli import main

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: bytes
    stderr: bytes


def process(
    home: Path, *args: str, code: int = 0, stdout: int | IO[bytes] = -1, **env: str
) -> Done:
    """Run a command in a process of its own, below the folder that its home is in."""
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *args],
        cwd=home.parent,
        env=os.environ | {"HEADWAY_HOME": str(home), "PYTHONPATH": str(ROOT)} | env,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode == code, done.stderr.decode()
    return Done(done.stdout or b"", done.stderr)


def headway(home: Path, *args: str, code: int = 0, **env: str) -> Done:
    """Run a command in this process, which must end with that exit code."""
    done = ran(home, *args, **env)
    assert done.returncode == code, done.stderr.decode()
    return Done(done.stdout, done.stderr)


def ran(home: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """What came of a command in this process, below the folder that its home is in."""
    printed, told = io.BytesIO(), io.BytesIO()
    out, err = io.TextIOWrapper(printed), io.TextIOWrapper(told)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"HEADWAY_HOME": str(home), **env}.items():
            patch.setenv(name, value)
        patch.chdir(home.parent)
        patch.setattr(sys, "argv", ["headway", *args])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        try:
            main()
            ended = 0
        except SystemExit as e:
            ended = int(e.code or 0)
        out.flush()
        err.flush()
    return subprocess.CompletedProcess(args, ended, printed.getvalue(), told.getvalue())
