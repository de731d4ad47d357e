"""The gate from records to its decision, what people decide about it, and what stays on record."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import ran
from fleet import HOUR_US, Fleet, at, facts, lost_72_of_720, stamp
from harness import POLICY

from answers.freezes import course, history
from answers.gate import Question, decide, note_refusal
from answers.home import Home
from answers.journal import Journal
from metrics.freeze import Standing
from metrics.rulings import Kind, Rulings
from metrics.scope import Scope

ROOT = Path(__file__).parents[2]
KEYS = [
    "decision",
    "change",
    "scope",
    "as_of",
    "data_through",
    "coverage",
    "blocking",
    "warnings",
    "override",
    "explanation",
]


def ask(
    home: Home, change: str = "firmware", scope: str = "fleet", hours: float = 720
) -> dict[str, Any]:
    """The gate's answer, from this process."""
    rulings = Rulings(Journal(home).entries(), POLICY)
    with facts(home, adjustments=rulings.adjustments(2**62)) as found:
        return decide(found, rulings, Question(change, Scope.parse(scope), at(hours)))


def headway(home: Home, *args: str) -> subprocess.CompletedProcess[str]:
    """A command, whatever its exit code."""
    done = ran(home.root, *args, COLUMNS="140")
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(args, done.returncode, out, err)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return lost_72_of_720().publish(tmp_path_factory.mktemp("frozen"))


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Home:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 100)
    return fleet.publish(tmp_path_factory.mktemp("free"))


def test_an_exhausted_budget_denies_with_all_that_it_rests_on(frozen: Home) -> None:
    found = ask(frozen)
    assert list(found) == KEYS
    assert found["decision"] == "deny"
    (blocking,) = found["blocking"]
    # Lost 72 h of 8 GPUs: 1 h of startup, 71 h down to hardware.
    assert (blocking["slo"], blocking["unit"]) == ("goodput", "gpu_us")
    assert blocking["bad"] == blocking["allowed"] == 576 * HOUR_US
    assert {"by": "cause", "name": "hardware", "amount": 568 * HOUR_US} in blocking["spenders"]
    assert found["explanation"].startswith("Denied: goodput of fleet has spent its budget")
    assert found["explanation"].count(". ") == 1


def test_a_policy_by_which_nothing_gates_is_said_to_be_one(frozen: Home) -> None:
    policy = POLICY.model_copy(update={"gating": ()})
    with facts(frozen, policy) as found:
        answer = decide(found, Rulings([], policy), Question("firmware", Scope(), at(720)))
    assert answer["decision"] == "allow"
    assert "by the policy (gating: []) no objective holds rollouts" in answer["explanation"]


def test_its_thaw_is_the_hour_at_which_enough_has_left_the_window(frozen: Home) -> None:
    # Coming hours hold what the last day held, one each, so 72 h stay allowed and 68.4 may be bad.
    # The hour of startup leaves first; the 71 lost hours begin to leave after hour 649.
    thaw_at = ask(frozen)["blocking"][0]["thaw_at"]
    # 71 - (n - 649) <= 68.4 from n = 652 on.
    assert thaw_at == stamp(720 + 652).replace("+00:00", "Z")


def test_a_budget_with_enough_left_allows(free: Home) -> None:
    found = ask(free, hours=100)
    # 100 h of 8 GPUs, 80 GPU-h allowed, 8 lost to startup: 90 % left.
    assert found["decision"] == "allow"
    assert "90 % of its budget" in found["explanation"]
    assert found["blocking"] == []
    assert any("unproven" in warning for warning in found["warnings"])


@pytest.mark.parametrize("change", ["reliability_fix", "security"])
def test_some_changes_pass_a_freeze_and_the_answer_says_so(frozen: Home, change: str) -> None:
    found = ask(frozen, change)
    assert found["decision"] == "allow"
    assert (
        "passes even during a freeze. It passes although fleet is frozen." in found["explanation"]
    )


def test_stale_data_are_unknown(frozen: Home) -> None:
    found = ask(frozen, hours=722.5)
    assert found["decision"] == "unknown"
    assert "too old to decide on" in found["explanation"]


def test_a_tier_that_is_not_there_is_answered_with_those_that_are(free: Home) -> None:
    done = headway(free, "gate", "--change", "firmware", "--scope", "tier=gold")
    assert done.returncode == 2
    assert "no such tier among batch, interactive, standard" in " ".join(done.stderr.split())


def test_before_any_data_it_is_unknown(frozen: Home) -> None:
    assert ask(frozen, hours=-5)["decision"] == "unknown"


def test_a_scope_without_a_large_job_is_unknown(frozen: Home) -> None:
    found = ask(frozen, scope="tier=interactive")
    assert found["decision"] == "unknown"
    assert "no large instrumented job of tier=interactive" in found["explanation"]


def test_between_hours_the_state_is_that_after_the_last_closed_one(frozen: Home) -> None:
    # At 719.5 the hour that closed last ended at 719, with 71 h of 719 lost.
    assert ask(frozen, hours=719.5)["decision"] == "allow"
    assert ask(frozen, hours=720.5)["decision"] == "deny"


def test_the_hour_by_hour_course_is_the_same_when_it_is_replayed(frozen: Home) -> None:
    with facts(frozen) as found:
        whole = course(found, Scope(), at(720))
        again = course(found, Scope(), at(720))
        part = course(found, Scope(), at(400))
    assert whole == again
    assert whole.states[: len(part.states)] == part.states
    # Until hour 13 there are less than 100 GPU-hours; from then on 8 of at least 104 are lost.
    changes = [(hour.end_us, state) for hour, state in whole.changes()]
    assert changes == [(at(720), Standing.FROZEN)]


def test_publishing_records_each_change_of_state_with_its_numbers(frozen: Home) -> None:
    decisions = [e for e in Journal(frozen).entries() if e.kind is Kind.DECISION]
    last = [entry for entry in decisions if entry.scope == Scope()][-1]
    assert (last.body["state"], last.body["hour_us"]) == ("frozen", at(720))
    assert last.body["data_through_us"] == at(720)
    (goodput,) = [b for b in last.body["budgets"] if b["slo"] == "goodput"]
    assert goodput["bad"] == goodput["allowed"] == 576 * HOUR_US
    assert {"by": "category", "name": "restart", "amount": 568 * HOUR_US} in goodput["spenders"]


def test_late_data_change_the_replay_and_never_the_record(tmp_path: Path) -> None:
    fleet = lost_72_of_720()
    home = fleet.publish(tmp_path)
    before = Journal(home).entries()
    # The node was fine and the records of its steps were late: nothing was lost after hour 649.
    fleet.train(649, 71, number=650)
    fleet.lifecycle = [record for record in fleet.lifecycle if record["event"] != "interruption"]
    fleet.publish(tmp_path)
    assert Journal(home).entries()[: len(before)] == before
    with facts(home) as found:
        told = history(found, Journal(home), Scope(), at(720))
    assert told["recorded"][-1]["state"] == "frozen"
    assert told["now"] == []  # open from the first hour to the last


def storage_failure(lost_steps: int, tests: tuple[tuple[float, int, str], ...] = ()) -> Fleet:
    """A job with checkpoints due every 5 h that loses steps to its storage at hour 50."""
    fleet = Fleet()
    fleet.submit(0, checkpoint_interval_us=5 * HOUR_US)
    fleet.allocate(0)
    fleet.train(0, 50)
    fleet.tell("checkpoint_completed", at(45), attempt=0, step=45)
    fleet.interrupt(50, "storage")
    fleet.train(50, 100, attempt=1, number=51 - lost_steps)
    fleet.tell("checkpoint_completed", at(80), attempt=1, step=70)
    for hours, step, result in tests:
        fleet.tell("restore_test", at(hours), step=step, result=result)
    return fleet


@pytest.mark.parametrize(("lost", "decision"), [(5, "allow"), (6, "deny")])
def test_losing_more_than_one_checkpoint_interval_to_storage_breaks_the_promise(
    tmp_path: Path, lost: int, decision: str
) -> None:
    found = ask(storage_failure(lost).publish(tmp_path), hours=150)
    durability = [b for b in found["blocking"] if b["slo"] == "checkpoint-durability"]
    # Everything else is within: 1 h of startup, 1 h down and the lost steps, of 150 h.
    assert (found["decision"], len(durability)) == (decision, lost - 5)


def test_a_broken_promise_names_the_job_and_what_mends_it(tmp_path: Path) -> None:
    explanation = ask(storage_failure(6).publish(tmp_path), hours=150)["explanation"]
    assert "checkpoint-durability of fleet is broken (big lost more than one" in explanation
    assert "`headway restore-test JOB` mends it" in explanation
    # Unmended it leaves the window 720 h after the end of hour 50.
    assert f"thaws by {stamp(771).replace('+00:00', 'Z')}" in explanation


@pytest.mark.parametrize(
    ("restored", "decision"),
    [
        (((90, 70, "pass"),), "allow"),
        (((90, 70, "fail"),), "deny"),
        (((90, 45, "pass"),), "deny"),
        (((49, 45, "pass"),), "deny"),
    ],
    ids=["newest", "failed", "an older checkpoint", "before the failure"],
)
def test_a_broken_promise_is_mended_by_restoring_the_newest_checkpoint(
    tmp_path: Path, restored: tuple[tuple[float, int, str], ...], decision: str
) -> None:
    home = storage_failure(6, restored).publish(tmp_path)
    assert ask(home, hours=150)["decision"] == decision


@pytest.mark.parametrize(
    ("tests", "decision"),
    [
        ((), "allow"),
        (((90, 70, "fail"),), "deny"),
        (((90, 45, "fail"),), "allow"),
        (((90, 70, "fail"), (91, 70, "pass")), "allow"),
    ],
    ids=["none", "the newest", "an older one", "mended"],
)
def test_a_failed_restore_test_of_the_newest_breaks_the_promise_until_one_passes(
    tmp_path: Path, tests: tuple[tuple[float, int, str], ...], decision: str
) -> None:
    # At hour 90 a restart would go back to hour 45; 5 h are promised.
    assert ask(storage_failure(0, tests).publish(tmp_path), hours=150)["decision"] == decision


def test_a_freeze_by_unexplained_time_alone_says_so_and_names_the_jobs(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 50)
    fleet.train(70, 30, number=51)  # 20 h without any record
    found = ask(fleet.publish(tmp_path), hours=100)
    assert found["decision"] == "deny"
    assert any("no record explains, of jobs big" in warning for warning in found["warnings"])


# From here on what was recorded is as new as the clock, so that people's decisions are in force.


@pytest.fixture
def now_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    monkeypatch.setattr("fleet.BASE_US", int((hour - timedelta(hours=720)).timestamp()) * 10**6)
    return lost_72_of_720().publish(tmp_path)


def until(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")


def test_exit_codes_tell_allow_deny_usage_and_unknown(now_frozen: Home, tmp_path: Path) -> None:
    asked = [
        headway(now_frozen, "gate", "--change", "security"),
        headway(now_frozen, "gate", "--change", "firmware", "--format", "json"),
        headway(now_frozen, "gate", "--change", "firmwre"),
        headway(now_frozen, "gate", "--change", "firmware", "--as-of", "2031-01-01T00:00:00Z"),
        headway(Home(tmp_path / "empty"), "gate", "--change", "firmware", "--format", "json"),
    ]
    assert [done.returncode for done in asked] == [0, 1, 2, 3, 3]
    assert list(json.loads(asked[1].stdout)) == KEYS
    assert "did you mean firmware?" in asked[2].stderr
    assert json.loads(asked[4].stdout)["decision"] == "unknown"


@pytest.mark.parametrize(
    "policy",
    ["tiers: []", "silent_after_s: 2026-13-45"],
    ids=["no tier", "no date"],
)
def test_a_policy_that_cannot_be_read_is_unknown_and_no_wrong_question(
    free: Home, tmp_path: Path, policy: str
) -> None:
    home = Home(Path(shutil.copytree(free.root, tmp_path / "home")))
    home.policy_file.write_text(policy)
    done = headway(home, "gate", "--change", "firmware", "--format", "json")
    assert done.returncode == 3, done.stderr
    assert "slo.yaml" in json.loads(done.stdout)["explanation"]


def test_a_published_file_that_is_damaged_is_unknown(free: Home, tmp_path: Path) -> None:
    home = Home(Path(shutil.copytree(free.root, tmp_path / "home")))
    published = home.mart / (home.mart / "CURRENT").read_text().strip()
    whole = published.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"\xff" * len(whole)):
        published.write_bytes(damaged)
        done = headway(home, "gate", "--change", "firmware")
        assert done.returncode == 3, done.stderr
        assert "Traceback" not in done.stderr
        assert "headway refresh" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("change", "form", "code"), [("security", "table", 0), ("firmware", "json", 3)]
)
def test_the_exit_code_stands_where_nobody_reads_the_answer(
    free: Home, change: str, form: str, code: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "gate", "--change", change, "--format", form],
        cwd=ROOT,
        env=os.environ | {"HEADWAY_HOME": str(free.root)},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize(
    ("scope", "asked"),
    [
        ("tier=standrd", ("freeze",)),
        ("tenant=nobody", ("thaw",)),
        ("cluster=nowhere", ("override", "--change", "firmware")),
        (
            "job=bigg",
            ("exclude", "--from", "2026-03-02T10:00:00Z", "--until", "2026-03-02T11:00:00Z"),
        ),
        ("tier=standard,tenant=nobody", ("journal", "--note", "heat")),
    ],
    ids=["freeze", "thaw", "override", "exclude", "note"],
)
def test_nothing_is_decided_of_a_scope_that_is_not_there(
    free: Home, scope: str, asked: tuple[str, ...]
) -> None:
    # It would hold nothing, and whoever decided it would think otherwise.
    before = Journal(free).entries()
    ends = ("--until", until(1)) if asked[0] == "override" else ()
    said = ("--scope", scope, "--who", "ada", "--why", "heat", *ends)
    done = headway(free, *asked, *said)
    assert done.returncode == 2, done.stdout
    assert ": no such" in done.stderr
    assert Journal(free).entries() == before


def test_a_hand_acts_even_where_no_numbers_can_be_read(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "new")
    said = ("--scope", "tier=standard", "--who", "ada", "--why", "heat")
    assert headway(home, "freeze", *said).returncode == 0
    assert [entry.kind for entry in Journal(home).entries()] == [Kind.FREEZE]


def test_an_entry_under_a_policy_that_cannot_be_read_is_refused_before_it_is_written(
    tmp_path: Path,
) -> None:
    home = Home.open(tmp_path / "new")
    home.policy_file.write_text("tiers: []")
    done = headway(home, "freeze", "--who", "ada", "--why", "heat")
    assert (done.returncode, Journal(home).entries()) == (2, [])


def test_an_override_acts_at_once_and_stands_in_the_record(now_frozen: Home) -> None:
    said = ("--who", "ada", "--why", "the fix is in this firmware")
    done = headway(now_frozen, "override", "--change", "firmware", "--until", until(2), *said)
    assert done.returncode == 0, done.stderr
    answer = json.loads(
        headway(now_frozen, "gate", "--change", "firmware", "--format", "json").stdout
    )
    assert (answer["decision"], answer["override"]["who"]) == ("allow", "ada")
    assert "Without it the answer would be deny." in answer["explanation"]
    assert headway(now_frozen, "gate", "--change", "node_drain").returncode == 1
    entry = answer["override"]["id"]
    headway(now_frozen, "journal", "--revoke", str(entry), "--who", "bob", "--why", "not needed")
    assert headway(now_frozen, "gate", "--change", "firmware").returncode == 1


def test_an_override_longer_than_the_policy_allows_is_refused(now_frozen: Home) -> None:
    said = ("--who", "ada", "--why", "x", "--until", until(25))
    done = headway(now_frozen, "override", "--change", "firmware", *said)
    assert done.returncode == 2
    assert "24 h at most" in done.stderr


def test_hands_freeze_and_thaw_at_once(now_frozen: Home) -> None:
    said = ("--who", "ada", "--why", "heat in hall 3")
    headway(now_frozen, "thaw", *said, "--until", until(1))
    assert headway(now_frozen, "gate", "--change", "firmware").returncode == 0
    headway(now_frozen, "freeze", *said)
    done = headway(now_frozen, "gate", "--change", "firmware")
    assert done.returncode == 1
    assert "ada froze fleet by hand: heat in hall 3." in done.stdout
    listed = json.loads(headway(now_frozen, "journal", "--format", "json").stdout)
    people = [row["kind"] for row in listed if row["who"] != "headway"]
    assert people == ["thaw", "freeze"]
    # A decision is read by its state, what was held by the type of change.
    table = headway(now_frozen, "journal").stdout
    assert "refusal: firmware" in table
    assert "decision: frozen" in table


def test_a_thaw_that_lifts_nothing_says_so(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "new")
    said = ("--who", "ada", "--why", "cool again")
    assert "what its budgets say stands" in headway(home, "thaw", *said).stdout
    headway(home, "freeze", *said)
    part = headway(home, "thaw", "--scope", "tier=batch", *said).stdout
    assert "tier=batch stays frozen by hand, by entry 2 of fleet" in part
    whole = headway(home, "thaw", *said)
    assert whole.stdout == "entry 4: thaw of fleet; entry 4 in force\n"


def test_what_the_gate_held_is_noted_once_an_hour_and_a_question_of_a_moment_never(
    now_frozen: Home,
) -> None:
    for change in ("firmware", "firmware", "node_drain", "security"):
        headway(now_frozen, "gate", "--change", change)
    asked = ("gate", "--change", "maintenance", "--as-of", until(0))
    assert headway(now_frozen, *asked).returncode == 1
    noted = [e for e in Journal(now_frozen).entries() if e.kind is Kind.REFUSAL]
    # The hour may turn between two questions: then the same change is noted in both.
    hours = {entry.at_us // HOUR_US for entry in noted}
    assert {(e.body["change"], str(e.scope), e.who) for e in noted} == {
        ("firmware", "fleet", "headway"),
        ("node_drain", "fleet", "headway"),
    }
    assert len(noted) <= 1 + len(hours)
    assert noted[0].why.startswith("Denied: goodput of fleet has spent its budget")


def test_the_gate_answers_where_its_refusal_cannot_be_noted(now_frozen: Home) -> None:
    now_frozen.journal.unlink(missing_ok=True)
    now_frozen.journal.mkdir()
    question = Question("firmware", Scope(), 0)
    answer = {"decision": "deny", "explanation": "Denied.", "warnings": []}
    note_refusal(Journal(now_frozen), question, answer)
    assert len(answer["warnings"]) == 1
    assert "could not be noted" in answer["warnings"][0]


def test_a_re_attribution_counts_once_a_second_person_approved_it(now_frozen: Home) -> None:
    (restart,) = json.loads(headway(now_frozen, "restarts", "--format", "json").stdout)
    second = datetime.fromtimestamp(restart["detected_us"] // 10**6, UTC).isoformat()
    said = ("--job", "big", "--detected", second, "--cause", "job_error", "--who", "ada")
    done = headway(now_frozen, "reattribute", *said, "--why", "a bug in the loss function")
    assert "waits for approval by a second person" in done.stdout
    number = done.stdout.split("entry ")[1].split(":")[0]
    assert headway(now_frozen, "gate", "--change", "firmware").returncode == 1
    own = headway(now_frozen, "journal", "--approve", number, "--who", "Ada")
    assert own.returncode == 2
    headway(now_frozen, "journal", "--approve", number, "--who", "bob")
    done = headway(now_frozen, "gate", "--change", "firmware")
    # The job's own error is charged to nobody else: with it the fleet was never frozen.
    assert done.returncode == 0, done.stdout
    assert "1 adjustments are in force" in done.stdout


def test_an_exclusion_is_of_whole_hours(now_frozen: Home) -> None:
    said = ("--who", "ada", "--why", "outage")
    span = ("--from", "2026-03-02T10:30:00Z", "--until", "2026-03-02T12:00:00Z")
    done = headway(now_frozen, "exclude", *span, *said)
    assert done.returncode == 2
    assert "say 2026-03-02T10:00:00Z or 2026-03-02T11:00:00Z" in done.stderr
