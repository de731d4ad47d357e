"""The README's examples for rollout tools, as they are written there, against a real gate.

What the tools do with them is read from their documentation: Argo Rollouts takes `jsonPath` out of
the answer and compares it in `successCondition`; Flagger posts the rollout's name, namespace and
phase with the webhook's metadata, and goes on where the status is 2xx; a CI step runs in bash, and
stops its job where it exits with anything but 0.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from fleet import Fleet, lost_72_of_720
from gate_server import ROOT, Server, serving

WRITTEN_FOR = "http://headway.internal:8632"
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]


def kept() -> Fleet:
    """A job of 720 h that lost the hour of its start."""
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 720)
    return fleet


@pytest.fixture(scope="module", params=["within its budget", "frozen"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, bool]]:
    """A gate whose data reach the present hour, and whether a rollout may go on."""
    folder = tmp_path_factory.mktemp("rollout")
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fleet.BASE_US", int((hour - timedelta(hours=720)).timestamp()) * 10**6)
        fleet = kept() if request.param == "within its budget" else lost_72_of_720()
        home = fleet.publish(folder)
    with serving(home, folder / "log") as server:
        yield server, request.param == "within its budget"


def ask(server: Server, method: str, url: str, body: Any = None) -> tuple[int, Any]:
    assert url.startswith(WRITTEN_FOR)
    parts = urlsplit(url)
    return server.ask(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, body)


def example(key: str) -> Any:
    (found,) = [read for read in EXAMPLES if isinstance(read, dict) and key in read]
    return found


def test_argo_rollouts_goes_on_where_the_gate_allows(site: tuple[Server, bool]) -> None:
    server, goes_on = site
    template = example("kind")
    assert (template["apiVersion"], template["kind"]) == (
        "argoproj.io/v1alpha1",
        "AnalysisTemplate",
    )
    (metric,) = template["spec"]["metrics"]
    web = metric["provider"]["web"]
    status, answer = ask(server, "GET", web["url"])
    assert status == 200
    (path,) = re.findall(r"^\{\$\.(\w+)\}$", web["jsonPath"])
    (wanted,) = re.findall(r'^result == "(\w+)"$', metric["successCondition"])
    assert (answer[path] == wanted) is goes_on


def test_flagger_goes_on_where_the_gate_allows(site: tuple[Server, bool]) -> None:
    server, goes_on = site
    (hook,) = example("webhooks")["webhooks"]
    rollout = {"name": "trainer", "namespace": "ml", "phase": "Progressing"}
    status, _ = ask(server, "POST", hook["url"], rollout | {"metadata": hook["metadata"]})
    assert (200 <= status < 300) is goes_on


def ci_steps() -> list[str]:
    return [step["run"] for read in EXAMPLES if isinstance(read, list) for step in read]


@pytest.mark.parametrize("run", ci_steps(), ids=["command", "http"])
def test_a_ci_step_stops_its_job_unless_the_gate_allows(
    site: tuple[Server, bool], run: str, tmp_path: Path
) -> None:
    server, goes_on = site
    here = run.replace(WRITTEN_FOR, f"http://127.0.0.1:{server.port}")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", here],
        env=os.environ | {"HEADWAY_HOME": str(server.home.root), "PATH": command_on_path(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is goes_on, done.stderr
    assert ('"decision":' in done.stdout.replace(" ", "")) or not goes_on


def command_on_path(folder: Path) -> str:
    """A path on which `headway` is this checkout's."""
    command = folder / "headway"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pipelines.cli "$@"\n'
    )
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
