"""Each page and each state it may be in: what it says, and that it never breaks."""

import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import fleet
import harness
import pytest
import typer
from pages import AS_OF, ROOT, Opener, commands, opened, said, tables
from pages import cards as cards_of
from streamlit.testing.v1 import AppTest

from answers import questions
from answers.facts import Facts
from answers.home import Home
from answers.journal import Journal
from answers.mart import open_mart
from answers.moments import moment_us
from app.views import capacity, cluster
from app.views.home import cards
from metrics.conventions import HOUR_US
from metrics.errors import UsageError
from metrics.policy import DEFAULT_POLICY_FILE
from metrics.rulings import Kind, Rulings
from metrics.scope import Scope
from pipelines.cli import app as command_line
from pipelines.publish import KEPT, publish
from pipelines.warehouse import open_warehouse

PAGES = (
    "home",
    "job",
    "review",
    "restarts",
    "queue",
    "checkpoints",
    "capacity",
    "waiting",
    "health",
    "decisions",
)
S = 1_000_000


def run_command(*words: str) -> None:
    command_line(list(words), standalone_mode=False)


def ingest(tmp_path: Path, lifecycle: list[dict[str, Any]], steps: list[dict[str, Any]]) -> Path:
    """A home of its own with these records."""
    home, inbox = tmp_path / "home", tmp_path / "records"
    inbox.mkdir()
    harness.write_jsonl(inbox / "a.lifecycle.jsonl", lifecycle)
    if steps:
        harness.write_jsonl(inbox / "a.steps.jsonl", steps)
    run_command("ingest", str(inbox), "--home", str(home))
    return home


def one_job(job: str, gpus: int = 8) -> list[dict[str, Any]]:
    at = harness.RECENT_US
    return [
        {"event": "job_submitted", "ts_us": at, "job": job, "tier": "standard", "gpus": gpus},
        {"event": "resources_allocated", "ts_us": at + 10 * S, "job": job, "attempt": 0},
        {"event": "process_started", "ts_us": at + 20 * S, "job": job, "attempt": 0},
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_demonstration(open_page: Opener, page: str) -> None:
    run = open_page(page, as_of=AS_OF)
    assert not run.exception
    assert not run.error
    assert run.title
    assert "Data as of" in said(run)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_an_empty_home_says_what_to_run(
    open_page: Opener, tmp_path: Path, page: str
) -> None:
    run = open_page(page, home=tmp_path)
    assert not run.exception
    assert "Nothing ingested yet" in said(run)
    assert "headway ingest" in said(run)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_home_in_which_all_was_quarantined_says_so(
    open_page: Opener, tmp_path: Path, page: str
) -> None:
    torn = harness.write_lines(tmp_path / "a.lifecycle.jsonl", "torn\n", {"event": "unheard_of"})
    run_command("ingest", str(torn), "--home", str(tmp_path / "home"))
    run = open_page(page, home=tmp_path / "home")
    assert not run.exception
    assert "Nothing that was ingested could be read" in said(run)
    assert "2 records in quarantine" in said(run) and "headway quality" in said(run)


def test_a_tier_whose_only_job_waits_is_not_said_to_have_none(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job("first")[:1], [])
    run = open_page("queue", home=home)
    assert not run.exception
    assert "Too early to say whether tiers start in time" in said(run)
    assert "standard** unknown within 2 h" in said(run)
    assert "Not known yet: in no week did half of them end." in said(run)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_site_whose_only_job_waits_does_not_break(
    open_page: Opener, tmp_path: Path, page: str
) -> None:
    run = open_page(page, home=ingest(tmp_path, one_job("first")[:1], []), job="first")
    assert not run.exception
    assert run.title


def test_a_tier_that_the_policy_does_not_have_is_not_called_best_effort(
    open_page: Opener, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ingest(tmp_path, [one_job("first")[0] | {"tier": "gpu_a100"}, *one_job("first")[1:]], [])
    run = open_page("queue", home=home)
    assert "The policy has no tier or alias **gpu\\_a100** (`tiers:`)." in said(run)
    assert list(tables(run)[0]["Limit"]) == ["not in the policy"]
    run_command("queue", "--home", str(home))
    assert "not in the policy" in capsys.readouterr().out
    assert "best effort" not in said(run)


def test_an_objective_may_be_called_as_the_site_likes(open_page: Opener, tmp_path: Path) -> None:
    home = fleet.lost_72_of_720().publish(tmp_path)
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    for name in ("goodput", "time-to-restart", "queue-wait"):
        text = text.replace(f"  name: {name}\n", f"  name: our-{name}\n")
    gating = "gating: [our-goodput, our-time-to-restart, our-queue-wait]"
    home.policy_file.write_text(re.sub(r"gating: \[.*", gating, text), encoding="utf-8")
    seen = cards_of(open_page("home", home.root, as_of=fleet.stamp(720)))
    assert set(seen) >= {"Goodput 90 %", "Restart under 10 min", "Wait, interactive"}
    # Lost 72 h of 720, exactly what 90 % allows.
    assert seen["Goodput 90 %"] == "0.0 % left"
    for page in ("job", "health", "review", "queue", "restarts"):
        assert not open_page(page, home.root, as_of=fleet.stamp(720), job="big").exception


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_stale_data_says_so(open_page: Opener, page: str) -> None:
    run = open_page(page, as_of="2026-12-01T00:00:00Z")
    assert not run.exception
    assert "(limit 2 h): states unknown, changes held" in said(run)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_moment_before_any_data_does_not_break(open_page: Opener, page: str) -> None:
    run = open_page(page, as_of="2020-01-01T00:00:00Z")
    assert not run.exception


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ({"scope": "tier=standart"}, "did you mean standard?"),
        ({"scope": "nonsense"}, "say fleet, or one of"),
        ({"as_of": "yesterday"}, "as_of"),
    ],
    ids=["a scope that is not there", "a scope that is none", "a moment that is none"],
)
def test_a_wrong_address_is_answered_in_words(
    open_page: Opener, address: dict[str, str], words: str
) -> None:
    run = open_page("home", **address)
    assert not run.exception
    assert words in said(run)


def test_an_unknown_job_is_answered_with_the_closest(open_page: Opener) -> None:
    run = open_page("job", as_of=AS_OF, job="three-week")
    assert not run.exception
    assert "No job ‘three-week’" in said(run)
    assert "three-weeks" in said(run)


def test_a_job_without_steps_has_an_unknown_goodput_and_says_what_to_record(
    open_page: Opener, demo_home: Path
) -> None:
    with open_mart(Home.at(demo_home)) as mart:
        (row,) = mart.rows(
            "select min(job) as job from jobs where not instrumented and wall_us is not null"
        )
    run = open_page("job", as_of=AS_OF, job=row["job"])
    assert not run.exception
    assert "Goodput unknown: no step records" in said(run)


def test_a_job_is_answered_as_the_command_line_answers_it(
    open_page: Opener, demo_home: Path
) -> None:
    with open_mart(Home.at(demo_home)) as mart:
        answer = questions.job(mart, "three-weeks")
    run = open_page("job", as_of=AS_OF, job="three-weeks")
    assert not run.exception
    assert "81.0 % of 90 % useful" in said(run)
    behind = opened(run, "Numbers: the ledger")
    table = next(table for table in tables(behind) if "Exact, µs" in table)
    exact = [int(us) for us in table["Exact, µs"]]
    assert sum(exact[:-1]) == exact[-1] == answer["gap_us"]
    assert answer["residual_us"] == 0


def test_the_capacity_page_sums_to_what_is_installed(open_page: Opener) -> None:
    run = open_page("capacity", as_of=AS_OF)
    assert re.search(r"\d\d\.\d % of installed GPU time is useful", said(run))
    assert "neither share is ever an objective" in said(run)
    table = next(table for table in tables(run) if "Gap" in table)
    dollars = [int(cost.replace("$", "").replace(",", "")) for cost in table["Cost"]]
    # 814 GPUs for 720 hours at $2.50; what is printed adds up.
    assert sum(dollars[:-1]) == dollars[-1] == 814 * 720 * 5 // 2


def test_where_the_record_begins_inside_a_stretch_what_is_installed_is_no_less(
    tmp_path: Path,
) -> None:
    # 30 days in stretches of 6 hours that end at hour 10: the first, from -2 to 4, begins at 0.
    site = fleet.Fleet()
    site.tell("node_state", fleet.at(0), None, node="n[1-64]", gpus=8, state="idle")
    site.tell("change_ended", fleet.at(10), None, id="c", change="security")
    with fleet.facts(site.publish(tmp_path)) as facts:
        found = capacity.capacity(facts, Scope(), fleet.at(10) - 720 * HOUR_US, fleet.at(10))
    assert [(b.start_us, b.end_us, b.installed) for b in found.bins] == [
        (fleet.at(0), fleet.at(4), 512),
        (fleet.at(4), fleet.at(10), 512),
    ]


def test_without_node_states_what_is_installed_is_unknown(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job("a"), [])
    run = open_page("capacity", home=home, as_of=harness.stamp(harness.RECENT_US + 60 * S))
    assert not run.exception
    assert "What is installed is unknown" in said(run)


def test_a_restart_of_the_address_is_the_one_shown(open_page: Opener) -> None:
    run = open_page("job", as_of=AS_OF, job="three-weeks", restart="3")
    assert run.selectbox(key="restart").value == 3


def test_the_page_plans_a_jobs_checkpoints_as_the_command_line_does(
    open_page: Opener, demo_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("plan-checkpoint", "--job", "three-weeks", "--format", "json")
    run_command(*words, "--home", str(demo_home))
    advice = json.loads(capsys.readouterr().out)["advice"]
    # Saves block 300 s; 504 h with 11 restarts: one in 1,814,400 s / 11 = 164,945 s.
    # T* = sqrt(2 x 300 x 164,945) = 9,948 s.
    assert advice.startswith("Save every 2.8 h (17 steps); from 1.8 h to 4.1 h")
    run = open_page("job", as_of=AS_OF, job="three-weeks")
    assert advice in said(run)


def test_a_job_whose_saves_are_not_on_record_is_told_what_a_plan_needs(open_page: Opener) -> None:
    run = open_page("job", as_of=AS_OF, job="1")
    assert not run.exception
    assert "How often to save a checkpoint" in said(run)
    assert "--save-seconds (what a save takes)" in said(run)


def test_two_jobs_stand_side_by_side(open_page: Opener) -> None:
    run = open_page("job", as_of=AS_OF, job="three-weeks", vs="19")
    assert not run.exception
    assert any("19" in table.columns for table in tables(run))


def test_two_attempts_stand_side_by_side_and_both_are_kept_in_the_address(
    open_page: Opener,
) -> None:
    run = open_page("job", as_of=AS_OF, job="three-weeks", attempt="2", beside="5")
    assert _attempts_beside(run) == ["Attempt 2", "Attempt 5 "]
    # Chosen twice, for a box that forgets is seen at the second choice.
    for number in (7, 1):
        run.selectbox(key="beside").select(number).run()
        assert not run.exception
        assert run.query_params["beside"] in (str(number), [str(number)])
        assert _attempts_beside(run) == ["Attempt 2", f"Attempt {number} "]


def _attempts_beside(run: AppTest) -> list[str]:
    return next(
        list(table.columns)[1:]
        for table in tables(run)
        if any(str(name).startswith("Attempt ") for name in table.columns)
    )


def test_the_small_line_of_a_card_ends_at_what_is_left_now(demo_home: Path) -> None:
    site = Home.at(demo_home)
    rulings = Rulings(Journal(site).entries(), site.policy())
    with open_mart(site) as mart:
        facts = Facts(mart, rulings.policy, rulings.adjustments(moment_us(AS_OF)))
        found = cards(facts, Scope(), moment_us(AS_OF))
    firm = {card.key: (card.spark[-1], card.left) for card in found if card.left is not None}
    # What short jobs lost, they lost in the last six hours: no earlier point knows of it.
    assert firm.keys() >= {"goodput", "short-job-success"}
    assert all(last == float(left) for last, left in firm.values())


def test_a_mart_that_is_replaced_under_a_session_is_followed(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    run = open_page("health", home=home)
    assert not run.exception
    more = tmp_path / "more.lifecycle.jsonl"
    harness.write_jsonl(more, one_job("second"))
    site = Home.at(home)
    with open_warehouse(site.warehouse) as con:
        for _ in range(KEPT + 1):
            publish(con, site, site.policy(), as_of_given=False)
    run_command("ingest", str(more), "--home", str(home))
    run.run()
    assert not run.exception
    assert "2 findings" in said(run) or "4 findings" in said(run)


def test_a_job_of_a_million_steps_is_a_page(open_page: Opener, tmp_path: Path) -> None:
    at = harness.RECENT_US
    steps = [
        {
            "job": "long",
            "attempt": 0,
            "step": 1_000_000,
            "ts_us": at + 30 * S + 1_000_000 * S,
            "duration_us": 1_000_000 * S,
            "steps": 1_000_000,
        }
    ]
    home = ingest(tmp_path, one_job("long"), steps)
    run = open_page("job", home=home, job="long")
    assert not run.exception
    assert "useful" in said(run)


def test_without_a_token_nothing_can_be_entered_and_the_page_says_how(open_page: Opener) -> None:
    run = open_page("review", as_of=AS_OF)
    assert "Read-only" in said(run)
    assert any("headway journal --note" in said for said in commands(run))


def of_gangs() -> list[dict[str, Any]]:
    """One gang gathers its GPUs, of which eight are lent; another job was preempted unsignalled."""
    at = harness.RECENT_US
    return [
        {"event": "job_submitted", "ts_us": at, "job": "gang", "tier": "standard", "gpus": 512},
        {"event": "job_pending", "ts_us": at + S, "job": "gang", "reason": "gang_size"},
        {"event": "reservation_started", "ts_us": at + 9 * S, "job": "gang", "gpus_gathered": 400},
        {
            "event": "backfill_started",
            "ts_us": at + 9 * S,
            "job": "small",
            "for_job": "gang",
            "gpus": 8,
            "preemptible": False,
        },
        *one_job("small"),
        {
            "event": "interruption",
            "ts_us": at + 60 * S,
            "job": "small",
            "attempt": 0,
            "cause": "preemption",
        },
    ]


def test_the_waiting_page_says_why_what_is_gathered_and_what_was_broken(
    open_page: Opener, tmp_path: Path
) -> None:
    run = open_page("waiting", home=ingest(tmp_path, of_gangs(), []))
    assert not run.exception
    told = said(run)
    assert "2 jobs wait" in told
    assert "Needs 512 GPUs at once; 400 are gathered since" in told
    assert "Waits again since" in told
    assert "**1** of them broke the rule." in told
    assert "[small](/job?job=small)" in told
    assert "Attempt 0: reclaimed without a signal" in told
    assert "were lent to work that is not preemptible" in told
    counts = next(table for table in tables(run) if "Contract" in table)
    assert (
        dict(zip(counts["Contract"], counts["Broken"], strict=True))["A preemption is signalled"]
        == "1"
    )


def test_a_job_s_page_tells_why_it_waits_and_which_contracts_were_broken_to_it(
    open_page: Opener, tmp_path: Path
) -> None:
    run = open_page("job", home=ingest(tmp_path, of_gangs(), []), job="small")
    assert not run.exception
    assert "Waits again since" in said(run)
    # No signal, and reserved GPUs that were lent to it although it is not preemptible.
    assert "Contracts that were broken (2)" in said(run)


def given_a_token(home: Path, role: str) -> str:
    known = [{"holder": "ada", "role": role, "sha256": hashlib.sha256(b"secret").hexdigest()}]
    (home / "tokens.json").write_text(json.dumps(known), encoding="utf-8")
    return "secret"


def test_the_command_that_a_page_shows_keeps_a_note_with_the_same_week(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "researcher"))
    run = open_page("review", home=home, week="2026-W44")
    run.text_area(key="note-text").set_value("it's $5").run()
    monkeypatch.delenv("HEADWAY_HOME")  # the command is pasted into any shell, anywhere
    monkeypatch.chdir(tmp_path)
    run_command(*shown(run, "--note"))
    (entry,) = Journal(Home.at(home)).entries()
    assert (entry.kind, entry.who, entry.why) == (Kind.NOTE, "ada", "it's $5")
    assert entry.body["week"] == "2026-W44"


def shown(run: AppTest, word: str) -> list[str]:
    """The words of the command that a page shows, as a shell takes them."""
    (said,) = (command for command in commands(run) if word in command)
    assert said.startswith("headway ")
    return shlex.split(said)[1:]


FORMS = {
    "Override": ("decisions", "override-why", "override"),
    "Freeze": ("decisions", "hand-why", "freeze"),
    "Exclude": ("decisions", "exclude-why", "exclude"),
    "Re-attribute": ("job", "reattribute-why", "reattribute"),
    "Keep with this week": ("review", "note-text", "--note"),
}


@pytest.mark.parametrize("label", FORMS)
def test_a_form_and_the_command_beside_it_write_the_same_entry_once_each(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    page, key, word = FORMS[label]
    at = harness.RECENT_US
    ended = {"event": "interruption", "ts_us": at + 60 * S, "job": "first", "attempt": 0}
    home = ingest(tmp_path, [*one_job("first"), ended | {"cause": "hardware"}], [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "lead"))
    job = {"job": "first"} if page == "job" else {}
    run = open_page(page, home=home, **job)
    if page == "job":
        run = opened(run, "It had another cause? Re-attribute it")
    kind = "text_area" if key == "note-text" else "text_input"
    getattr(run, kind)(key=key).set_value("a *drill*; $5").run()
    command = shown(run, word)
    run.button(key=f"enter-{label}").click().run()
    assert not run.exception
    assert getattr(run, kind)(key=key).value == ""  # nobody enters it twice
    run_command(*command)
    by_page, by_command = Journal(Home.at(home)).entries()
    assert by_page.body["role"] == "lead"
    for entry in (by_page, by_command):
        assert (entry.who, entry.why) == ("ada", "a *drill*; $5")
    assert (by_page.kind, by_page.scope) == (by_command.kind, by_command.scope)
    same = {name: value for name, value in by_page.body.items() if name != "role"}
    assert {name: by_command.body.get(name) for name in same} == same


def test_what_is_typed_into_a_form_is_still_there_when_it_is_closed_and_opened_again(
    open_page: Opener,
) -> None:
    label = "It had another cause? Re-attribute it"
    run = opened(open_page("job", as_of=AS_OF, job="three-weeks"), label)
    run.text_input(key="reattribute-why").set_value("a dead link").run()
    run.selectbox(key="reattribute-cause").select("network").run()
    run.session_state[f"behind {label}"] = False
    run = run.run()
    assert "reattribute-why" not in [field.key for field in run.text_input]
    run = opened(run.run(), label)
    assert run.text_input(key="reattribute-why").value == "a dead link"
    assert run.selectbox(key="reattribute-cause").value == "network"
    assert any("--cause network" in command for command in commands(run))


def test_the_longest_override_that_the_policy_allows_can_be_entered(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "lead"))
    run = open_page("decisions", home=home)
    run.number_input[0].set_value(24).run()
    run.text_input(key="override-why").set_value("a whole day").run()
    run.button(key="enter-Override").click().run()
    assert not run.error
    (entry,) = Journal(Home.at(home)).entries()
    assert 0 <= entry.at_us + 24 * 3600 * S - entry.body["until_us"] < 120 * S


def test_nothing_is_entered_without_a_reason(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "lead"))
    run = entered(open_page("decisions", home=home), "  ")
    assert "Say it in words first." in said(run)
    assert Journal(Home.at(home)).entries() == []


ODD = "a $x$ *b* _c_ [d](http://e.example) `f` <b>g</b>"
SHOWN = r"a \$x\$ \*b\* \_c\_ \[d\](http://e.example) \`f\` \<b\>g\</b\>"
"""In Markdown, what a reader then sees as it was written."""


def test_names_and_reasons_are_shown_as_they_were_written(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job(ODD), [])
    at = harness.stamp(harness.RECENT_US + 60 * S)
    journal = Journal(Home.at(home))
    journal.append(Kind.NOTE, "ada", ODD + "\n# two", Scope(), {"week": "2026-W44"})
    journal.append(Kind.FREEZE, "ada", ODD, Scope(), {"until_us": None})
    assert f"**{SHOWN}**" in said(open_page("job", home=home, as_of=at, job=ODD))
    assert f"- {SHOWN} \\# two (ada)" in said(open_page("review", home=home, week="2026-W44"))
    assert f"ada froze fleet: {SHOWN}" in said(open_page("home", home=home))
    record = next(table for table in tables(open_page("decisions", home=home)) if "Why" in table)
    assert ODD in list(record["Why"])
    run = open_page("job", home=home, job=ODD)
    assert shown(run, "plan-checkpoint") == ["plan-checkpoint", "--job", ODD]


def test_what_was_decided_after_the_moment_of_a_page_is_not_on_it(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    note = Journal(Home.at(home)).append(Kind.NOTE, "ada", "later", Scope(), {"week": "2026-W44"})
    pinned = harness.stamp(note.at_us - S)
    assert "Nothing is on record yet." in said(open_page("decisions", home=home, as_of=pinned))
    (record,) = tables(open_page("decisions", home=home))
    assert list(record["Entry"]) == ["1 note"]
    assert list(record["Status"]) == ["recorded"]  # it is nothing that could be in force


@pytest.mark.parametrize("words", [("--note", "x", "--week", "2026-W99"), ("--week", "2026-W44")])
def test_a_note_is_kept_with_a_week_that_there_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    with pytest.raises(UsageError, match="--week"):
        run_command("journal", *words, "--who", "ada", "--home", str(home))


def entered(run: AppTest, why: str) -> AppTest:
    run.text_input(key="hand-why").set_value(why).run()
    return run.button(key="enter-Freeze").click().run()


def test_a_token_holder_freezes_by_hand_and_it_is_in_the_journal(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "lead"))
    run = entered(open_page("decisions", home=home), "a fire drill")
    assert not run.exception
    (entry,) = Journal(Home.at(home)).entries()
    assert (entry.kind, entry.who, entry.why) == (Kind.FREEZE, "ada", "a fire drill")
    assert "frozen" in said(open_page("home", home=home))


def test_a_role_that_may_not_decide_is_told_so(
    open_page: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    monkeypatch.setenv("HEADWAY_TOKEN", given_a_token(home, "researcher"))
    run = entered(open_page("decisions", home=home), "a fire drill")
    assert "may write notes only" in said(run)
    assert Journal(Home.at(home)).entries() == []


def one_run_lost_and_one_proven() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two runs that save; the storage loses the newest of one, the other passes a restore test."""
    hour, day_s = 3_600_000_000, 86_400
    at = harness.RECENT_US
    records: list[dict[str, Any]] = []
    for job in ("lost", "proven"):
        about = {"job": job, "tier": "standard", "gpus": 8, "checkpoint_interval_us": 5 * hour}
        length = {"expected_duration_us": 2 * day_s * S}
        records += [
            {"event": "job_submitted", "ts_us": at, **about, **length},
            {"event": "resources_allocated", "ts_us": at, "job": job, "attempt": 0},
        ]
    saved = {"event": "checkpoint_completed", "attempt": 0}
    records += [
        saved | {"ts_us": at + 4 * hour, "job": "lost", "step": 4},
        saved | {"ts_us": at + 8 * hour, "job": "lost", "step": 8},
        saved | {"ts_us": at + 8 * hour, "job": "proven", "step": 8},
        {"event": "interruption", "ts_us": at + 10 * hour, "job": "lost", "attempt": 0}
        | {"cause": "storage"},
        {"event": "restore_test", "ts_us": at + 9 * hour, "job": "proven", "step": 8}
        | {"result": "pass", "duration_us": 30 * S},
    ]
    steps = [
        {"job": job, "attempt": 0, "step": n, "ts_us": at + n * hour, "duration_us": hour}
        for job in ("lost", "proven")
        for n in range(1, 11)
    ]
    # It goes on after step 4: six hours of work again, five were promised.
    again = {"job": "lost", "attempt": 1, "duration_us": hour}
    steps += [again | {"step": n, "ts_us": at + (n + 7) * hour} for n in range(5, 9)]
    return records, steps


def test_checkpoints_tell_the_proof_of_each_run_and_what_the_storage_cost(
    open_page: Opener, tmp_path: Path
) -> None:
    run = open_page("checkpoints", home=ingest(tmp_path, *one_run_lost_and_one_proven()))
    assert not run.exception
    assert "1 of 2 runs proven by a restore" in said(run)
    assert "in less than **95.0 %** of cases" in said(run)  # one pass: 1 − 0.05
    run = opened(run, "Saves, and the interval as measured")
    proof, saves, failures, tests = tables(run)
    assert list(proof["Promise"]) == ["broken", "kept"]
    assert list(proof["Proven"]) == ["0 of 2", "1 of 1"]
    assert list(proof["Tests"]) == ["0 passed, 0 failed", "1 passed, 0 failed"]
    # What a save cost is not on record, so no interval can be advised.
    assert list(proof["Advised"]) == ["unknown", "unknown"]
    assert list(saves["Measured"]) == ["4 h", "unknown"]
    assert list(failures["What"]) == ["interruption"]
    assert list(failures["Lost"]) == ["6 h"]
    assert list(failures["Promise"]) == ["broken, not mended"]
    assert list(tests["Result"]) == ["pass"]


def test_a_job_that_waits_is_told_why_and_not_that_it_lacks_steps(open_page: Opener) -> None:
    run = open_page("job", as_of=AS_OF, job="16")
    assert not run.exception
    told = said(run)
    assert "with 1 small batch job that had waited as long" in told
    assert "It has not run yet" in told
    assert "is still waiting after" in told
    assert "no step records" not in told


def test_a_job_that_was_interrupted_before_its_first_step_is_said_to_have_waited_again(
    open_page: Opener, tmp_path: Path
) -> None:
    at = harness.RECENT_US
    attempt = {"job": "first", "attempt": 1}
    again = [
        {"event": "interruption", "ts_us": at + 60 * S, "job": "first", "attempt": 0}
        | {"cause": "hardware"},
        {"event": "resources_allocated", "ts_us": at + 180 * S} | attempt,
    ]
    step = {"step": 1, "ts_us": at + 240 * S, "duration_us": 10 * S} | attempt
    home = ingest(tmp_path, [*one_job("first"), *again], [step])
    run = open_page("job", home=home, job="first")
    story = next(table for table in tables(run) if "What" in table and "For" in table)
    assert ("Interrupted, waiting again", "2 min") in zip(story["What"], story["For"], strict=True)


def test_an_unknown_job_s_page_says_of_when_its_data_are(open_page: Opener) -> None:
    assert "Data as of" in said(open_page("job", as_of=AS_OF, job="three-week"))


def test_a_mart_of_an_older_headway_is_a_page_that_says_what_to_run(
    open_page: Opener, tmp_path: Path
) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    (file,) = (home / "mart").glob("*.duckdb")
    with duckdb.connect(file) as con:
        con.execute("drop table if exists queue_waits")
        con.execute("drop view if exists queue_waits")
    run = open_page("job", home=home, job="first")
    assert not run.exception
    assert "the published numbers lack what this Headway reads" in said(run)
    assert "`headway refresh`" in said(run)


def test_the_fleet_is_one_click_from_an_address_that_is_wrong(open_page: Opener) -> None:
    # The page of the fleet has no name in the address: /home only leads to it.
    assert "[Start from the whole fleet](/)" in said(open_page("job", scope="nonsense"))


def test_every_command_that_a_page_names_is_one(subtests: pytest.Subtests) -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "app").rglob("*.py"))
    named = set(re.findall(r"(?:[`\"]headway |(?:shell|command)\(\s*\")([a-z-]+)", sources))
    assert {"ingest", "preview", "journal", "override"} <= named
    known = set(typer.main.get_group(command_line).commands)
    for name in named:
        with subtests.test(name):
            assert name in known


def test_the_record_says_why_in_whole_sentences(open_page: Opener, tmp_path: Path) -> None:
    home = ingest(tmp_path, one_job("first"), [])
    long = "because " * 60 + "of the drill"
    Journal(Home.at(home)).append(Kind.FREEZE, "ada", long, Scope(), {"until_us": None})
    for page in ("home", "decisions"):
        (record,) = (table for table in tables(open_page(page, home=home)) if "Why" in table)
        assert long in list(record["Why"])


def test_a_moment_of_the_past_shows_no_change_that_came_after_it(tmp_path: Path) -> None:
    at = harness.RECENT_US
    begun = {"event": "change_started", "change": "firmware", "scope": "fleet"}
    lifecycle = [
        *one_job("first"),
        begun | {"ts_us": at + 60 * S, "id": "early"},
        begun | {"ts_us": at + 7200 * S, "id": "late"},
    ]
    home = Home.at(ingest(tmp_path, lifecycle, []))
    with open_mart(home) as mart:
        found = cluster.rollouts(mart, at, at + 3600 * S)
    assert [row["id"] for row in found] == ["early"]


def test_capacity_tells_what_was_pulled_from_prometheus(open_page: Opener, tmp_path: Path) -> None:
    at, minute = harness.RECENT_US, 60 * S
    home, inbox = Home.open(tmp_path / "home"), tmp_path / "inbox"
    inbox.mkdir()
    state = {"event": "node_state", "ts_us": at, "node": "n1", "gpus": 8, "state": "idle"}
    with harness.fresh_warehouse() as con:
        harness.deliver(con, inbox, [state, state | {"ts_us": at + 3600 * S, "state": "down"}], [])
        con.execute("insert into series values (1, 'rack_power_w', '{\"rack\": \"r1\"}')")
        for place, watts in ((1, 100.0), (2, 400.0), (3, 250.0)):
            con.execute("insert into samples values (1, ?, ?)", [at + place * minute, watts])
        harness.rederive(con)
        publish(con, home, harness.POLICY, as_of_given=False)
    run = open_page("capacity", home=home.root)
    assert not run.exception
    found = next(table for table in tables(run) if "Newest" in table)
    assert found[["What", "Of", "Newest", "Mean", "Lowest", "Highest"]].values.tolist() == [
        ["rack power w", "rack r1", "250", "250", "100", "400"]
    ]
