"""The journal: what was decided stays as it was written, whoever tries to change it."""

import multiprocessing
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from answers.home import Home
from answers.journal import Journal
from metrics.errors import HeadwayError, UsageError
from metrics.policy import load_policy
from metrics.rulings import Kind, Ruling, Rulings
from metrics.scope import Scope

POLICY = load_policy(None)
TIER = Scope(tier="standard")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home")


def test_a_home_without_a_journal_has_no_entries_and_gets_no_file_by_reading(home: Home) -> None:
    assert Journal(home).entries() == []
    assert not home.journal.exists()


def test_an_entry_reads_as_it_was_written(home: Home) -> None:
    written = Journal(home).append(Kind.FREEZE, "ada", "heat", TIER, {"until_us": 7})
    assert Journal(home).entries() == [written]
    assert (written.id, written.kind, written.scope, written.who, written.why) == (
        1,
        Kind.FREEZE,
        TIER,
        "ada",
        "heat",
    )
    assert written.body == {"until_us": 7}


@pytest.mark.parametrize(("who", "why"), [("", "heat"), ("ada", " ")])
def test_who_and_why_are_asked_for(home: Home, who: str, why: str) -> None:
    with pytest.raises(UsageError, match="say --who"):
        Journal(home).append(Kind.FREEZE, who, why)


@pytest.mark.parametrize("text", ["a\x1b[31m", "a\x00", "a\x07", "a\x9b31m", "a\udcff"])
def test_what_would_act_on_a_reader_s_terminal_is_refused(home: Home, text: str) -> None:
    for who, why in ((text, "heat"), ("ada", text), ("a\nb", "heat")):
        with pytest.raises(UsageError, match="cannot be printed"):
            Journal(home).append(Kind.NOTE, who, why)
    assert Journal(home).entries() == []


def test_a_reason_may_have_several_lines_and_any_script(home: Home) -> None:
    why = "Ωραία\n\tтак 👩‍🔧\u00a0ok"
    assert Journal(home).append(Kind.NOTE, "Zoë", why).why == why


def test_what_headway_came_to_is_written_whatever_a_job_is_called(home: Home) -> None:
    Journal(home).append(Kind.DECISION, "headway", "goodput of tenant=\x1b[31m")
    assert len(Journal(home).entries()) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set why = 'nothing'",
        "delete from entries",
        "insert or replace into entries values (1, 0, 'freeze', 'fleet', 'eve', 'x', '{}', null)",
    ],
)
def test_another_program_cannot_change_it_either(home: Home, statement: str) -> None:
    before = Journal(home).append(Kind.FREEZE, "ada", "heat")
    con = sqlite3.connect(home.journal)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        con.execute(statement)
    con.close()
    assert Journal(home).entries() == [before]


def test_it_is_kept_in_wal_mode(home: Home) -> None:
    Journal(home).append(Kind.NOTE, "ada", "hello")
    con = sqlite3.connect(home.journal)
    assert con.execute("pragma journal_mode").fetchone() == ("wal",)
    con.close()


def test_many_writers_lose_nothing(home: Home) -> None:
    def write(name: str) -> None:
        for _ in range(10):
            Journal(home).append(Kind.NOTE, name, "x")

    threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.id for entry in Journal(home).entries()] == list(range(1, 41))


def test_a_file_that_is_no_journal_is_said_to_be_none(home: Home) -> None:
    home.journal.write_text("not a database, and longer than a header of one would be" * 9)
    with pytest.raises(HeadwayError, match=r"journal\.sqlite"):
        Journal(home).entries()


@pytest.fixture
def lent() -> Iterator[Home]:
    """A home that everybody may look into."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Home.open(Path(made) / "home")


def read_without_rights(home: Home) -> list[Ruling] | HeadwayError:
    """The entries as somebody reads them who may not write, in a process of their own."""
    home.root.chmod(0o555)
    for file in home.root.iterdir():
        file.chmod(0o444)
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)  # nobody
            sender.send(Journal(home).entries())
        except HeadwayError as e:
            sender.send(e)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    home.root.chmod(0o755)
    return receiver.recv() if receiver.poll() else HeadwayError("no answer")


def test_whoever_may_not_write_reads_it(lent: Home) -> None:
    assert read_without_rights(lent) == []
    written = Journal(lent).append(Kind.FREEZE, "ada", "heat")
    assert read_without_rights(lent) == [written]


def test_whoever_may_not_write_reads_it_while_somebody_else_does(lent: Home) -> None:
    written = Journal(lent).append(Kind.FREEZE, "ada", "heat")
    writing = sqlite3.connect(lent.journal)  # keeps the log there
    writing.execute("begin immediate")
    try:
        assert lent.journal.with_name("journal.sqlite-wal").exists()
        assert read_without_rights(lent) == [written]
    finally:
        writing.close()


def ruling(
    id_: int, kind: Kind, at: int, of: int | None = None, who: str = "ada", **body: object
) -> Ruling:
    return Ruling(id_, at, kind, Scope(), who, "because", body, of)


def test_an_override_ends_by_itself() -> None:
    found = Rulings([ruling(1, Kind.OVERRIDE, 10, change="firmware", until_us=20)], POLICY)
    assert [found.override("firmware", Scope(), at) is not None for at in (9, 10, 19, 20)] == [
        False,
        True,
        True,
        False,
    ]
    assert found.override("node_drain", Scope(), 15) is None


def test_an_override_of_a_tier_does_not_open_the_fleet() -> None:
    entry = Ruling(1, 10, Kind.OVERRIDE, TIER, "ada", "x", {"change": "firmware", "until_us": 20})
    found = Rulings([entry], POLICY)
    assert found.override("firmware", TIER, 15) is not None
    assert found.override("firmware", Scope(), 15) is None


def test_an_override_of_the_fleet_opens_every_tier() -> None:
    found = Rulings([ruling(1, Kind.OVERRIDE, 10, change="firmware", until_us=20)], POLICY)
    assert found.override("firmware", TIER, 15) is not None


def test_a_revoked_entry_was_in_force_until_then() -> None:
    found = Rulings([ruling(1, Kind.FREEZE, 10), ruling(2, Kind.REVOKE, 20, of=1)], POLICY)
    assert [found.frozen_by_hand(TIER, at) is not None for at in (9, 10, 19, 20)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_thaw_lifts_the_freezes_before_it_and_none_after() -> None:
    entries = [ruling(1, Kind.FREEZE, 10), ruling(2, Kind.THAW, 20), ruling(3, Kind.FREEZE, 30)]
    found = Rulings(entries, POLICY)
    assert [found.frozen_by_hand(Scope(), at) is not None for at in (15, 25, 35)] == [
        True,
        False,
        True,
    ]


def test_what_a_thaw_lifted_stays_lifted_after_the_thaw_expired() -> None:
    entries = [ruling(1, Kind.FREEZE, 10), ruling(2, Kind.THAW, 20, until_us=30)]
    assert Rulings(entries, POLICY).frozen_by_hand(Scope(), 40) is None


def test_an_adjustment_waits_for_a_second_person() -> None:
    asked = ruling(1, Kind.EXCLUDE, 10, from_us=0, until_us=5)
    own = ruling(2, Kind.APPROVE, 11, of=1, who="Ada ")
    second = ruling(3, Kind.APPROVE, 12, of=1, who="bob")
    assert Rulings([asked, own], POLICY).adjustments(20).exclusions == ()
    assert len(Rulings([asked, own, second], POLICY).adjustments(20).exclusions) == 1


def test_of_two_causes_for_one_restart_the_later_counts() -> None:
    entries = [
        ruling(1, Kind.REATTRIBUTE, 10, job="j", detected_us=5, cause="network"),
        ruling(2, Kind.APPROVE, 11, of=1, who="bob"),
        ruling(3, Kind.REATTRIBUTE, 12, job="j", detected_us=5, cause="storage"),
        ruling(4, Kind.APPROVE, 13, of=3, who="bob"),
    ]
    (change,) = Rulings(entries, POLICY).adjustments(20).reattributions
    assert change.cause == "storage"


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("fleet", Scope()),
        ("tier=standard", TIER),
        ("cluster=a,tier=standard", Scope(cluster="a", tier="standard")),
        ("job=a,b=c", Scope(job="a,b=c")),
    ],
)
def test_a_scope_reads_as_it_is_written(text: str, scope: Scope) -> None:
    assert Scope.parse(text) == scope
    assert str(scope) == text


@pytest.mark.parametrize("text", ["", "tier", "tier=", "teir=x", "tier=a,tier=b", "all"])
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="say fleet, or one of"):
        Scope.parse(text)
