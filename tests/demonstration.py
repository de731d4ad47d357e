"""The demonstration as tests ask it: see the fixture in conftest."""

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
    """A home in which the demonstration ran, and what it printed. Nobody writes into it."""

    home: Path
    printed: str

    def copy(self, target: Path) -> Path:
        """A home of one's own with the same in it."""
        return Path(shutil.copytree(self.home, target))


def demonstrate(home: Path) -> Demonstration:
    """Run the demonstration in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "demo", "--until", UNTIL, "--home", str(home)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Demonstration(home, done.stdout)
