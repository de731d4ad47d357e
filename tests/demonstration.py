"""The demonstration as tests ask it: see the fixture in conftest."""

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNTIL = "2026-11-29T16:00:00Z"
"""When its simulated cluster ends: minutes after the last record of the sample."""


@dataclass(frozen=True)
class Demonstration:
    """A folder in which the demonstration ran. Nobody writes into it."""

    folder: Path

    @property
    def home(self) -> Path:
        """Its home."""
        return self.folder / "home"

    @property
    def output(self) -> Path:
        """The file of what it printed; there once it has ended."""
        return self.folder / "printed.txt"

    @property
    def printed(self) -> str:
        """What it printed."""
        return self.output.read_text(encoding="utf-8")

    def copy(self, target: Path) -> Path:
        """A home of one's own with the same in it."""
        return Path(shutil.copytree(self.home, target))


def demonstrate(folder: Path) -> Demonstration:
    """The demonstration in a folder that processes of tests share: the first makes it there."""
    found = Demonstration(folder)
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.output.exists():
            found.output.write_text(_run(found.home), encoding="utf-8")
    return found


def _run(home: Path) -> str:
    """Run it in a process of its own; what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "demo", "--until", UNTIL, "--home", str(home)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
