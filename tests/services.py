"""`headway up` as a process of its own, and the questions that Dagster's page asks it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import yaml

ROOT = Path(__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "120"}

ENDED = ("SUCCESS", "FAILURE", "CANCELED")
"""Statuses of runs that are over."""

Found = TypeVar("Found")

_LAUNCH = """
mutation($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}
"""
_RUNS = "{ runsOrError { ... on Runs { results { runId jobName status tags { key value } } } } }"
_EVENTS = """
query($run: ID!) { logsForRun(runId: $run) { ... on EventConnection { events {
  ... on MessageEvent { message } } } } }
"""


def free_port() -> int:
    """A port of the loopback that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(look: Callable[[], Found | None], what: str, timeout_s: float = 180.0) -> Found:
    """The first answer of `look` that is true; fails saying `what` was awaited."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited {timeout_s} s for {what}")


@contextmanager
def prometheus(folder: Path, config: dict[str, Any], *options: str) -> Iterator[int]:
    """Prometheus until the end of the block, its data in `tsdb` of a folder; where it listens."""
    file, log, port = folder / "prometheus.yaml", folder / "prometheus.log", free_port()
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={file}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
                *options,
            ],
            stdout=out,
            stderr=out,
        )

    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    try:
        until(is_ready, "Prometheus to be ready", 60)
        yield port
    finally:
        process.terminate()
        process.wait(30)


class Up:
    """A running `headway up`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port, self.app_port, self.gate_port = free_port(), free_port(), free_port()
        self._said = (home / "up.log").open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "up", *self.ports()],
            env=ENVIRONMENT | {"HEADWAY_HOME": str(home)},
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    def ports(self) -> list[str]:
        """The options that say where it listens."""
        return [
            *("--port", str(self.port)),
            *("--app-port", str(self.app_port)),
            *("--gate-port", str(self.gate_port)),
        ]

    def said(self) -> str:
        """What it printed until now."""
        return (self.home / "up.log").read_text(encoding="utf-8")

    def ready(self) -> None:
        """Wait until everything that has an address answers."""

        def answers() -> bool:
            assert self.process.poll() is None, self.said()
            return self.said().count("ready: ") == 3

        until(answers, "the pages, the gate and Dagster's page")

    def end(self) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self._said.close()
        return code

    def descendants(self) -> dict[int, str]:
        """The processes below it: their command lines by id."""
        found: dict[int, str] = {}
        parents = {self.process.pid}
        while parents:
            below = {
                pid: command
                for pid, (parent, command) in processes().items()
                if parent in parents and pid not in found
            }
            found |= below
            parents = set(below)
        return found

    def ask(self, query: str, **variables: Any) -> Any:
        """A GraphQL answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found
        return found["data"]

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the newest first."""
        return list(self.ask(_RUNS)["runsOrError"]["results"])

    def launch(
        self, job: str, assets: list[str] | None = None, config: dict[str, Any] | None = None
    ) -> str:
        """Launch a job, or only some of its assets, as the page does; the run's id."""
        selector: dict[str, Any] = {
            "repositoryLocationName": "pipelines.definitions",
            "repositoryName": "__repository__",
            "jobName": job,
        }
        if assets is not None:
            selector["assetSelection"] = [{"path": [asset]} for asset in assets]
        params = {"selector": selector, "runConfigData": config or {}, "mode": "default"}
        found = self.ask(_LAUNCH, params=params)["launchPipelineExecution"]
        assert found["__typename"] == "LaunchRunSuccess", found
        return str(found["run"]["runId"])

    def wait_for(self, run_id: str, *statuses: str) -> str:
        """Wait until a run has one of the statuses; the one that it has."""

        def reached() -> str | None:
            status = next(run["status"] for run in self.runs() if run["runId"] == run_id)
            return status if status in statuses else None

        return until(reached, f"run {run_id} to be {statuses}")

    def at_rest(self) -> None:
        """Wait until no run waits or is under way: also none that a test before left behind."""
        until(lambda: all(run["status"] in ENDED for run in self.runs()), "all runs to end")

    def events(self, run_id: str) -> list[str]:
        """The messages of a run's events."""
        events = self.ask(_EVENTS, run=run_id)["logsForRun"]["events"]
        return [event["message"] for event in events]


def processes() -> dict[int, tuple[int, str]]:
    """Every process that has not ended: its parent and command line by id."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue
        if command:  # one that ended and that nobody waited for has none
            found[int(place.name)] = (parent, command)
    return found
