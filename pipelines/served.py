"""Starting what `app` serves, as processes: the two packages import each other nowhere."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from answers.home import Home
from metrics.errors import HeadwayError, UsageError
from pipelines.listening import check_address


def run_pages(home: Home, port: int) -> None:
    """Become the process that shows the pages on this machine. Raises UsageError, HeadwayError."""
    check_address("127.0.0.1", port, "--port")
    command = [sys.executable, *pages_command("127.0.0.1", port)]
    os.execve(sys.executable, command, environment(home))


def pages_command(host: str, port: int) -> tuple[str, ...]:
    """Python's arguments that show the pages."""
    return ("-m", "app", host, str(port))


def gate_command(host: str, port: int) -> tuple[str, ...]:
    """Python's arguments that answer the gate over HTTP."""
    where = ("--host", host, "--port", str(port), "--log-level", "warning")
    return ("-m", "uvicorn", "app.gate:create", "--factory", *where)


def write_review(home: Home, week: str | None, scope: str, out: Path) -> list[Path]:
    """Write a week's review into a folder; the files. Raises UsageError, HeadwayError."""
    command = [sys.executable, "-m", "app.export", "--out", str(out), "--scope", scope]
    found = subprocess.run(
        command + (["--week", week] if week else []),
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        said = found.stderr.strip().rpartition("\n")[2] or "the review could not be written"
        raise (UsageError if found.returncode == 2 else HeadwayError)(said)
    return [Path(line) for line in found.stdout.splitlines()]


def environment(home: Home) -> dict[str, str]:
    """What these processes are told by variables. Raises HeadwayError."""
    above = str(_app_folder().parent)
    paths = [above, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"HEADWAY_HOME": str(home.root), "PYTHONPATH": os.pathsep.join(paths)}


def _app_folder() -> Path:
    found = importlib.util.find_spec("app")
    if found is None or not found.submodule_search_locations:
        raise HeadwayError(
            "the pages are not installed here; `make demo` builds all that is needed"
        )
    return Path(next(iter(found.submodule_search_locations)))
