"""The gate over HTTP: a real server on loopback, asked as rollout pipelines ask."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from gate_server import ROOT, Server, serving

from answers.home import Home
from answers.journal import Journal
from metrics.rulings import Kind

THEN = "2026-08-22T00:00:00Z"
"""When the run of the demonstration ended: 96 of 504 hours lost, frozen."""
TOKEN = "a-long-random-string-of-ada"


@pytest.fixture(scope="module")
def server(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("gate")
    home = Home.open(Path(shutil.copytree(demo_home, folder / "home")))
    hashed = hashlib.sha256(TOKEN.encode()).hexdigest()
    reader = hashlib.sha256(b"a-reader").hexdigest()
    holders = [
        {"holder": "ada", "role": "lead", "sha256": hashed},
        {"holder": "bob", "role": "reader", "sha256": reader},
    ]
    (home.root / "tokens.json").write_text(json.dumps(holders), encoding="utf-8")
    with serving(home, folder / "log") as found:
        yield found


def test_the_gate_answers_200_with_the_decision_inside(server: Server) -> None:
    status, answer = server.ask("GET", f"/v1/gate?change=firmware&as_of={THEN}")
    assert (status, answer["decision"]) == (200, "deny")
    # The run lost 96 h on 512 GPUs, and 50.4 h were allowed: rounded down to µs.
    goodput = answer["blocking"][0]
    assert goodput["bad"] == 512 * 96 * 3_600_000_000
    assert goodput["allowed"] == 512 * 504 * 360_000_000
    status, answer = server.ask("GET", "/v1/gate?change=firmware&as_of=2031-01-01T00:00:00Z")
    assert (status, answer["decision"]) == (200, "unknown")


@pytest.mark.parametrize(
    "query",
    [
        "change=firmwre",
        "",
        "change=firmware&scope=teir=x",
        "change=firmware&scope=tier=gold",
        "change=firmware&as_of=yesterday",
        "change=firmware&as_of=0001-01-01T00:00:00Z",
        "change=firmware&scop=tier=batch",
        "change=firmware&asof=2026-08-22T00:00:00Z",
        "change=firmware&change=security",
        "change=firmware&scope=fleet&scope=tier=batch",
        "change=%ff%00",
        "change=firmware&scope=job=%ed%a0%80",
    ],
)
def test_a_wrong_question_is_422(server: Server, query: str) -> None:
    assert server.ask("GET", f"/v1/gate?{query}")[0] == 422


@pytest.mark.parametrize(("change", "status"), [("security", 200), ("firmware", 403)])
def test_the_webhook_answers_by_its_status(server: Server, change: str, status: int) -> None:
    # At the clock the demonstration's data are old: unknown, which must not let a rollout pass.
    body = {"name": "trainer", "namespace": "ml", "phase": "Progressing"}
    asked = body | {"metadata": {"change": change, "scope": "fleet"}}
    assert server.ask("POST", "/v1/gate/webhook", asked)[0] == status


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata": {"change": "firmware", "scop": "tier=batch"}}',
        b'{"metadata": {"change": "firmware", "Scope": "tier=batch"}}',
        b'{"metadata": {"change": "\\ud800"}}',
        b'{"metadata": {"change": NaN}}',
        b'{"metadata": {"change": "firmware"',
        b'{"metadata": "\xff"}',
        b"[" * 100_000,
        b"[]",
        b"",
    ],
    ids=lambda body: repr(body[:45]),
)
def test_a_webhook_that_asks_for_no_change_lets_nothing_pass(server: Server, body: bytes) -> None:
    assert server.ask("POST", "/v1/gate/webhook", body)[0] in (400, 422)


def test_a_webhook_may_say_more_than_the_gate_asks(server: Server) -> None:
    asked = {
        "metadata": {"change": "security", "cluster": "eu", "type": "rollout"},
        "checksum": "1",
    }
    assert server.ask("POST", "/v1/gate/webhook", asked)[0] == 200


def test_budgets_are_those_of_the_command_line(server: Server) -> None:
    status, found = server.ask("GET", f"/v1/budgets?scope=job=three-weeks&as_of={THEN}")
    assert status == 200
    assert (found[0]["slo"], found[0]["remaining"]) == ("goodput", -456 * 360_000_000)


def test_a_job_comes_with_its_loss_and_its_budgets(server: Server) -> None:
    status, found = server.ask("GET", "/v1/jobs/three-weeks")
    assert (status, found["wall_us"], found["residual_us"]) == (200, 504 * 3_600_000_000, 0)
    assert found["budgets"][0]["slo"] == "goodput"
    assert server.ask("GET", "/v1/jobs/nothing")[0] == 404


def test_it_says_that_it_runs_and_that_it_is_ready(server: Server) -> None:
    assert server.ask("GET", "/healthz")[0] == 200
    assert server.ask("GET", "/readyz")[0] == 200


def test_metrics_have_sloth_s_names_and_leave_out_what_is_unknown(server: Server) -> None:
    status, text = server.ask("GET", "/metrics")
    assert status == 200
    assert 'sloth_slo="goodput"} 0.9\n' in text
    assert "slo:objective:ratio{" in text
    # The data are old at the clock: no figure of a budget is told.
    assert "slo:period_error_budget_remaining:ratio{" not in text
    assert "nan" not in text.lower()


def test_an_override_needs_a_token_of_a_role_that_may(server: Server) -> None:
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    asked = {"change": "firmware", "until": until, "why": "it mends the links"}
    statuses = [
        server.ask("POST", "/v1/overrides", asked, token)[0]
        for token in (None, "somebody", "a-reader")
    ]
    assert statuses == [401, 401, 403]
    status, written = server.ask("POST", "/v1/overrides", asked, TOKEN)
    assert (status, written["who"]) == (201, "ada")
    answer = server.ask("GET", "/v1/gate?change=firmware")[1]
    assert (answer["decision"], answer["override"]["who"]) == ("allow", "ada")
    assert TOKEN not in server.log.read_text()
    Journal(server.home).append(Kind.REVOKE, "bob", "not needed", of=written["id"])
    assert server.ask("GET", "/v1/gate?change=firmware")[1]["decision"] == "unknown"


def test_an_override_past_the_policy_s_longest_is_422(server: Server) -> None:
    until = (datetime.now(UTC) + timedelta(hours=25)).isoformat(timespec="seconds")
    asked = {"change": "firmware", "until": until, "why": "x"}
    assert server.ask("POST", "/v1/overrides", asked, TOKEN)[0] == 422


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"scop": "tier=batch"}, "scop"),
        ({"scope": "tier=bach"}, "did you mean batch?"),
        ({"scope": "job=nobody"}, "no such job"),
        ({"change": "firmwre"}, "did you mean firmware?"),
        ({"why": " "}, "--why"),
        ({"why": "\x1b[2J"}, "cannot be printed"),
        ({"until": "tomorrow"}, "until tomorrow"),
    ],
)
def test_a_wrong_override_is_422_and_never_one_of_the_fleet(
    server: Server, wrong: dict[str, str], told: str
) -> None:
    before = Journal(server.home).entries()
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="seconds")
    asked = {"change": "firmware", "until": until, "why": "x"} | wrong
    status, answer = server.ask("POST", "/v1/overrides", asked, TOKEN)
    assert status == 422
    assert told in answer["detail"]
    assert Journal(server.home).entries() == before


@pytest.mark.parametrize(
    "tokens",
    [
        '[{"holder": "ada", "role": "lead", "sha256": "é"}]',
        json.dumps([{"holder": " ", "role": "lead", "sha256": "0" * 64}]),
        '[{"holder": "ada"}]',
        "{",
        "null",
    ],
)
def test_tokens_that_cannot_be_read_let_nobody_override(server: Server, tokens: str) -> None:
    file = server.home.root / "tokens.json"
    good = file.read_bytes()
    file.write_text(tokens, encoding="utf-8")
    asked = {"change": "firmware", "until": "2099-01-01T00:00:00Z", "why": "x"}
    status, answer = server.ask("POST", "/v1/overrides", asked, TOKEN)
    file.write_bytes(good)
    assert status == 503
    assert "tokens.json" in answer["detail"]


def test_a_policy_that_cannot_be_read_is_nobody_s_wrong_question(server: Server) -> None:
    server.home.policy_file.write_text("tiers: []\n")
    gate = server.ask("GET", f"/v1/gate?change=firmware&as_of={THEN}")
    webhook = server.ask("POST", "/v1/gate/webhook", {"metadata": {"change": "firmware"}})
    others = [server.ask("GET", path)[0] for path in ("/v1/budgets", "/readyz", "/metrics")]
    server.home.policy_file.unlink()
    assert (gate[0], gate[1]["decision"]) == (200, "unknown")
    assert "slo.yaml" in gate[1]["explanation"]
    assert webhook[0] == 403
    assert others == [503, 503, 503]
    assert server.ask("GET", f"/v1/gate?change=firmware&as_of={THEN}")[1]["decision"] == "deny"


def test_it_goes_on_with_what_it_has_where_the_newest_cannot_be_read(server: Server) -> None:
    pointer = server.home.mart / "CURRENT"
    good = pointer.read_text()
    for broken in ("nothing.duckdb", ""):
        pointer.write_text(broken)
        for _ in range(2):
            answer = server.ask("GET", f"/v1/gate?change=firmware&as_of={THEN}")[1]
            assert answer["decision"] == "deny"
            time.sleep(0.2)
    pointer.write_text(good)
    log = server.log.read_text()
    assert "what was published last is not read" in log
    assert "Traceback" not in log


def test_a_body_that_no_question_needs_is_refused_unread(server: Server) -> None:
    # Its length is told, and nothing of it sent: what answers has not read it.
    for told in ("Content-Length: 1048577", "Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            head = f"POST /v1/gate/webhook HTTP/1.1\r\nHost: gate\r\n{told}\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(64).startswith(b"HTTP/1.1 413 ")


def test_a_port_that_is_taken_is_a_failure_and_not_unknown(server: Server) -> None:
    words = ["-m", "pipelines.cli", "serve", "--port", str(server.port)]
    env = os.environ | {"HEADWAY_HOME": str(server.home.root)}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=env, capture_output=True)
    assert (done.returncode, b"address already in use" in done.stderr) == (1, True)


def test_it_answers_while_a_refresh_publishes(server: Server) -> None:
    refreshing = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "refresh", "--rebuild"],
        cwd=ROOT,
        env=os.environ | {"HEADWAY_HOME": str(server.home.root)},
        stdout=subprocess.DEVNULL,
    )
    answers = 0
    while refreshing.poll() is None or answers < 20:
        status, answer = server.ask("GET", f"/v1/gate?change=firmware&as_of={THEN}")
        assert (status, answer["decision"]) == (200, "deny")
        answers += 1
    assert refreshing.returncode == 0


def test_it_keeps_what_its_openapi_promises_whatever_it_is_asked(server: Server) -> None:
    # Which changes and scopes there are depends on policy and data, which no schema can say: that
    # a question fits the schema does not make it a right one.
    done = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            "run",
            f"http://127.0.0.1:{server.port}/openapi.json",
            "--exclude-checks=positive_data_acceptance",
            "--max-examples=30",
            "--seed=1",
            "--no-color",
        ],
        cwd=server.home.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
