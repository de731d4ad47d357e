"""The README's commands exist, run, and print what it says they print.

HEADWAY_UPDATE_README=1 writes what they print into the README, to be read before it is committed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from demonstration import Demonstration
from typer.main import get_group

from pipelines.cli import app

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (headway [^\n]*)\n(.*?)```", re.DOTALL)
TEXT = README.read_text(encoding="utf-8")
DECIDED = {"gate": (1, 3)}
"""Exit codes besides 0 that are answers."""
UPDATE = os.environ.get("HEADWAY_UPDATE_README") == "1"


def headway(arguments: list[str], home: Path) -> str:
    """What a command prints to stdout, 120 columns wide, run where the README stands."""
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        cwd=ROOT,
        env=os.environ | {"HEADWAY_HOME": str(home), "COLUMNS": "120", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, *DECIDED.get(arguments[0], ())), done.stderr
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def home(demonstration: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the demonstration ran, which guarantees the shares that the README shows."""
    home = demonstration.copy(tmp_path_factory.mktemp("readme") / "home")
    (shares,) = re.findall(r"^shares: \{.*\}$", TEXT, flags=re.MULTILINE)
    assert shares in (home / "slo.yaml").read_text(encoding="utf-8")
    return home


def test_every_example_prints_what_the_readme_shows(home: Path, tmp_path: Path) -> None:
    shown = BLOCK.findall(TEXT)
    assert len(shown) >= 8
    # An as_of in one example would change the others, and runs last; ingestion begins anew.
    ordered = sorted(shown, key=lambda block: "--as-of" in block[0])
    printed = {}
    for command, _ in ordered:
        ingests = command.startswith("headway ingest")
        printed[command] = headway(command.split()[1:], tmp_path if ingests else home)
    if UPDATE:
        README.write_text(
            BLOCK.sub(lambda m: f"```console\n$ {m[1]}\n{printed[m[1]]}```", TEXT), encoding="utf-8"
        )
        pytest.fail("the README was written anew: read it, then run this test without the variable")
    assert dict(shown) == printed


def test_every_command_has_its_section() -> None:
    commands = get_group(app).commands
    assert [name for name in commands if f"### headway {name}\n" not in TEXT] == []


def test_every_option_that_the_readme_names_exists() -> None:
    known = {
        option
        for command in get_group(app).commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    prose = re.sub(r"`(sacct|uv|dagster)[^`]*`|```sh\nsacct.*?```", "", TEXT, flags=re.DOTALL)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", prose))
    assert named - known - {"--help"} == set()


def test_every_path_that_the_readme_names_exists() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", TEXT)
    named = re.findall(r"`((?:metrics|sql|answers|pipelines|tests)/[\w./-]*)`", TEXT)
    assert [path for path in (*linked, *named) if not (ROOT / path).exists()] == []
