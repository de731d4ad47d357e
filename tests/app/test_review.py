"""A week's review as files: complete in itself, the same numbers as the page."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from pages import ROOT

from app.export import Document
from app.views.review import Week
from metrics.errors import UsageError
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
