"""Pages pinned to a moment of the past: what held then, in one moment, and what it cannot know.

The job of most tests is fleet.lost_72_of_720: an hour of startup, steps of an hour until hour 649,
down to hardware from there to its end at hour 720.
"""

from pathlib import Path
from shutil import copytree

import duckdb
import fleet
import harness
import pytest
from fleet import HOUR_US, at
from pages import AS_OF, Opener, cards, commands, opened, said, tables
from streamlit.testing.v1 import AppTest

from answers import questions
from answers.home import Home
from answers.mart import open_mart
from app import store
from pipelines.cli import app as command_line


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with that job, and one that waits from hour 10 to 20 and then runs to 30."""
    folder = tmp_path_factory.mktemp("site")
    records = fleet.lost_72_of_720()
    records.submit(10, "next", gpus=16)
    records.tell("job_pending", at(12), "next", reason="gang_size")
    records.tell("reservation_started", at(15), "next", gpus_gathered=8)
    records.allocate(20, "next")
    records.train(20, 10, "next")
    records.end(30, "next")
    return records.publish(folder).root


def exact(run: AppTest) -> dict[str, int]:
    """The ledger's table behind the waterfall."""
    behind = opened(run, "Numbers: the ledger")
    table = next(table for table in tables(behind) if "Exact, µs" in table)
    return {row["What"]: int(row["Exact, µs"]) for _, row in table.iterrows()}


def h(hours: int) -> int:
    return hours * HOUR_US


@pytest.mark.parametrize(
    ("hours", "title", "losses", "left"),
    [
        (100, "99.0 % of 90 % useful", {"Start-up": h(1)}, "9.0 h"),
        (649, "99.8 % of 90 % useful", {"Start-up": h(1)}, "63.9 h"),
        (700, "92.6 % of 90 % useful", {"Start-up": h(1), "Restarts": h(51)}, "18.0 h"),
        (720, "90.0 % of 90 % useful", {"Start-up": h(1), "Restarts": h(71)}, "0.0 h"),
    ],
)
def test_a_job_s_page_is_of_one_moment_in_all_its_parts(
    open_page: Opener, site: Path, hours: int, title: str, losses: dict[str, int], left: str
) -> None:
    run = open_page("job", home=site, as_of=fleet.stamp(hours), job="big")
    assert not run.exception
    told = said(run)
    assert title in told
    whole = sum(losses.values())
    assert exact(run) == losses | {"Lost in all": whole}
    told_at_a_look = cards(run)
    assert title.startswith(told_at_a_look["Goodput, target 90 %"])
    # 10 % of the wall-clock so far, less what was lost: every loss here is the platform's.
    assert hours * HOUR_US // 10 - whole == round(float(left.split()[0]) * 10) * HOUR_US // 10
    (budget,) = (name for name in told_at_a_look if name.startswith("Budget left"))
    assert told_at_a_look[budget] == left
    assert f"Restarts ({int(hours >= 649)})" in told  # what is told at the moment is told by then
    assert ("(open)" in told) == (hours in (649, 700))
    assert ("As it stood at" in told) == (hours < 720)
    assert ("headway job big" in commands(run)) == (hours == 720)  # it would tell of now
    assert ("as of the newest data" in told) == (hours < 720)  # the holes in its records


def test_a_moment_inside_an_hour_is_told_to_the_end_of_it_as_budgets_are(
    open_page: Opener, site: Path
) -> None:
    run = open_page("job", home=site, as_of=fleet.stamp(699.5), job="big")
    assert exact(run)["Lost in all"] == h(52)
    assert "As it stood at Mon 30 Mar 04:00 UTC, the end of the hour asked for;" in said(run)


def test_a_page_of_the_past_says_what_a_refresh_that_stops_then_says(
    open_page: Opener, site: Path, tmp_path: Path
) -> None:
    past = Path(copytree(site, tmp_path / "past"))
    records = fleet.lost_72_of_720()
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    harness.write_jsonl(inbox / "a.lifecycle.jsonl", records.lifecycle)
    harness.write_jsonl(inbox / "a.steps.jsonl", records.steps)
    for words in (
        ["ingest", str(inbox)],
        ["refresh", "--as-of", fleet.stamp(700), "--rebuild"],
    ):
        command_line([*words, "--home", str(past)], standalone_mode=False)
    with open_mart(Home.at(past)) as mart:
        answer = questions.job(mart, "big")
    assert answer["wall_us"] == h(700)
    shown = exact(open_page("job", home=site, as_of=fleet.stamp(700), job="big"))
    assert shown["Lost in all"] == answer["gap_us"] == sum(row["us"] for row in answer["loss"])


@pytest.mark.parametrize("hours", [-1, 9])
def test_a_job_that_came_later_was_not_on_record_yet(
    open_page: Opener, site: Path, hours: int
) -> None:
    run = open_page("job", home=site, as_of=fleet.stamp(hours), job="next")
    assert not run.exception
    assert not run.error
    assert "‘next’ was not on record yet" in said(run)
    assert "[its page as of now](/job?job=next)" in said(run)
    others = run.selectbox(key="find").options[1:]  # the first is what the address says
    assert others == (["big · standard · running"] if hours == 9 else [])


def test_a_job_that_waited_then_is_told_why(open_page: Opener, site: Path) -> None:
    told = said(open_page("job", home=site, as_of=fleet.stamp(16), job="next"))
    assert "It has not run yet" in told
    assert "It is still waiting after **6 h**" in told
    assert "Needs 16 GPUs at once; 8 are gathered since 15:00 UTC" in told
    told = said(open_page("job", home=site, as_of=fleet.stamp(22), job="next"))
    assert "It waited **11 h**" in told


def test_the_page_of_waiting_tells_who_waited_then(open_page: Opener, site: Path) -> None:
    then = said(open_page("waiting", home=site, as_of=fleet.stamp(16)))
    assert "1 job waits" in then
    assert "has waited **6 h**" in then
    assert "8 are gathered since 15:00 UTC" in then
    assert "As it stood at Sun 1 Mar 16:00 UTC;" in then
    assert "Nobody waits" in said(open_page("waiting", home=site, as_of=fleet.stamp(25)))
    assert "Nobody waits" in said(open_page("waiting", home=site, as_of=fleet.stamp(9)))


def test_a_job_that_is_set_beside_another_may_not_have_been_there(
    open_page: Opener, site: Path
) -> None:
    run = open_page("job", home=site, as_of=fleet.stamp(9), job="big", vs="next")
    assert not run.exception
    assert "next was not on record yet" in said(run)
    run = open_page("job", home=site, as_of=fleet.stamp(29), job="big", vs="next")
    beside = next(table for table in tables(run) if "Difference" in table)
    assert list(beside["next"]) == ["88.9 % (8 h)", "11.1 % (1 h)"]


def test_the_demonstration_s_job_is_shown_as_it_stood(open_page: Opener, demo_home: Path) -> None:
    # Nineteen days after its beginning, by which it is summed here from the published hours.
    run = open_page("job", as_of="2026-08-20T00:00:00Z", job="three-weeks")
    assert not run.exception
    with open_mart(Home.at(demo_home)) as mart:
        rows = mart.rows(
            "select category = 'useful' as is_useful, sum(us)::bigint as us from ledger"
            " where job = 'three-weeks' and make_timestamp(hour_us) < '2026-08-20' group by all"
        )
    sums = {row["is_useful"]: row["us"] for row in rows}
    table = exact(run)
    assert table.pop("Lost in all") == sum(table.values()) == sums[False]
    assert f"{100 * sums[True] / sum(sums.values()):.1f} % of 90 % useful" in said(run)


def test_a_moment_costs_nothing_where_nothing_came_later_and_is_cut_once(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_HOME", str(site))
    published = store.snapshot()
    assert published.at(at(720)) is published
    assert published.at(at(721)) is published
    cuts = [published.at(at(hours)) for hours in range(1, store.PAST + 2)]
    assert published.at(at(store.PAST + 1)) is cuts[-1]
    assert published.at(at(1)) is not cuts[0]  # the oldest made room
    assert len(published._past) == store.PAST
    assert [cut.meta.as_of_us for cut in cuts] == [at(hours) for hours in range(1, 6)]
    assert published.meta.as_of_us == at(720)


def test_what_no_date_is_known_of_is_said_to_be_of_the_newest_data(open_page: Opener) -> None:
    told = "as of the newest data: Sun 29 Nov 16:00 UTC"
    for page, job in (("health", {}), ("job", {"job": "three-weeks"})):
        assert told in said(open_page(page, as_of="2026-08-20T00:00:00Z", **job))
        assert told not in said(open_page(page, as_of=AS_OF, **job))
    assert told not in said(open_page("waiting", as_of="2026-08-20T00:00:00Z"))


@pytest.mark.parametrize("page", ["job", "waiting"])
def test_a_mart_that_cannot_be_cut_says_what_to_run(
    open_page: Opener, site: Path, tmp_path: Path, page: str
) -> None:
    older = Path(copytree(site, tmp_path / "older"))
    (file,) = (older / "mart").glob("*.duckdb")
    with duckdb.connect(file) as con:
        con.execute("drop table suspensions")
    run = open_page(page, home=older, as_of=fleet.stamp(100), job="big")
    assert not run.exception
    assert "`headway refresh` publishes them anew" in said(run)
    assert "Unknown" not in open_page(page, home=older, job="big").title[0].value
