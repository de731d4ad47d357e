"""A week's review as files: complete in itself, the same numbers as the page."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import fleet
import pytest
from pages import ROOT

from app import review_text
from app.export import Document
from app.views.review import Week, review
from metrics.errors import UsageError
from metrics.scope import Scope
from pipelines.cli import app as command_line
from pipelines.defs.reviews import every_monday, weekly_review
from pipelines.defs.site import Site


def test_a_review_is_one_html_file_and_markdown_with_its_charts(
    demo_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["review", "--week", "2026-W34", "--out", str(tmp_path), "--home", str(demo_home)]
    command_line(words, standalone_mode=False)
    html = (tmp_path / "review-2026-W34.html").read_text(encoding="utf-8")
    markdown = (tmp_path / "review-2026-W34.md").read_text(encoding="utf-8")
    assert "Week 34: goodput and restart missed" in html
    assert html.count("<svg role") == 2
    assert not re.findall(r'(?:src|href)="', html)
    for chart in re.findall(r"\]\(([^)]+\.svg)\)", markdown):
        assert (tmp_path / chart).exists()
    assert re.search(r"\| Goodput \| \w+ \| [\d.]+ % \|", markdown)
    assert "Hollow: work done again. Tick: last week." in html
    # Both carry the font that they name: no reader's machine has to have it.
    charts = [(tmp_path / name).read_text() for name in re.findall(r"\]\(([^)]+)\)", markdown)]
    for text in (html, *charts):
        assert text.count("@font-face") == text.count("data:font/woff2;base64,") == 1
        assert 'font-family="Source Sans, sans-serif"' in text
    assert "## Waits and contracts" in markdown
    # Of the run of three weeks: preempted in that month's second week, and never told of it.
    assert "A preemption is signalled" in markdown
    assert str(tmp_path / "review-2026-W34.html") in capsys.readouterr().out


def test_a_week_with_node_states_has_its_capacity_in_the_review(
    demo_home: Path, tmp_path: Path
) -> None:
    words = ["review", "--week", "2026-W47", "--out", str(tmp_path), "--home", str(demo_home)]
    command_line(words, standalone_mode=False)
    html = (tmp_path / "review-2026-W47.html").read_text(encoding="utf-8")
    markdown = (tmp_path / "review-2026-W47.md").read_text(encoding="utf-8")
    assert "<h2>Capacity</h2>" in html
    assert (tmp_path / "2026-W47-capacity.svg").exists()
    # 814 GPUs for 168 hours, at the policy's $2.50.
    (installed,) = re.findall(r"\| Installed \|.*", markdown)
    assert "| 136,752 GPU-h | 100.0 % | 100.0 % | $341,880 |" in installed


@pytest.mark.parametrize(
    ("tested", "mended"), [(None, "not yet"), (60, "Tue 3 Mar 12:00 UTC"), (200, "not yet")]
)
def test_a_promise_that_was_mended_was_still_broken_in_the_week(
    tested: float | None, mended: str, tmp_path: Path
) -> None:
    # Stopped at hour 50 of March, a Tuesday; 30 steps of an hour are lost where 20 are promised.
    site = fleet.Fleet()
    site.submit(0, checkpoint_interval_us=20 * fleet.HOUR_US)
    site.allocate(0)
    site.train(0, 50)
    for step in (20, 40):
        site.tell("checkpoint_completed", fleet.at(step), attempt=0, step=step)
    site.interrupt(50, "hardware")
    site.tell("checkpoint_loaded", fleet.at(51), attempt=1, step=20)
    site.train(51, 40, attempt=1, number=21)
    site.tell("change_ended", fleet.at(300), None, id="c", change="security")
    if tested is not None:
        site.tell("restore_test", fleet.at(tested), step=40, result="pass")
    with fleet.facts(site.publish(tmp_path)) as facts:
        found = review(facts, Scope(), "2026-W10")
    (row,) = (row for row in found.rows if row.broken is not None)
    assert row.broken == (1, 0, 1)
    lost = {"Job": "big", "At": "Tue 3 Mar 02:00 UTC", "Lost": "1\u00a0d 6\u00a0h"}
    assert review_text.broken(found) == [lost | {"Mended": mended}]


def test_what_people_wrote_is_text_in_both_files_and_sentences_are_wrapped() -> None:
    made = Document("Week 44")
    made.lines(["see *this*\n# not a heading, <i>"], "None.")
    made.table([{"Job": "a", "How": "a sentence of more than forty characters, so wrapped"}], "")
    assert r"- see \*this\* \# not a heading, \<i\>" in made.markdown
    html = "".join(made.html)
    assert "# not a heading, &lt;i&gt;" in html
    assert '<td>a</td><td class="said">a sentence' in html


@pytest.mark.parametrize("week", ["2026-44", "2026-W99", "next"])
def test_a_week_that_is_none_is_refused(week: str) -> None:
    with pytest.raises(UsageError, match="2026-W44"):
        Week.named(week)


def test_a_week_of_which_nothing_is_recorded_is_refused(demo_home: Path, tmp_path: Path) -> None:
    words = ["review", "--week", "2027-W10", "--out", str(tmp_path), "--home", str(demo_home)]
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "nothing is recorded of it yet" in done.stderr


def test_a_week_knows_its_name_and_its_begin() -> None:
    week = Week.named("2026-W44")
    assert Week.of(week.start_us) == week
    assert Week.of(week.end_us - 1) == week
    assert Week.of(week.end_us).name == "2026-W45"


def test_the_schedule_of_every_monday_writes_the_last_whole_week(
    demo_home: Path, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(demo_home, tmp_path / "home"))
    result = dg.materialize([weekly_review], resources={"site": Site(home=str(home))})
    assert result.success
    assert sorted(path.suffix for path in (home / "reviews").iterdir())[:2] == [".html", ".md"]
    assert every_monday.cron_schedule == "0 6 * * 1"
