"""A real browser asks what each person asks, on the demonstration's data.

It saves what it saw below `tests/app/shots/` (which git ignores); with HEADWAY_PICTURES=1 it also
renews the README's pictures.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import harness
import pytest
from fleet import at, lost_72_of_720
from pages import AS_OF, ROOT
from PIL import Image
from services import free_port

from app import format

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
RAN = "2026-08-22T12:00:00Z"
"""A moment in whose 30 days the run of three weeks lies."""
AT_REST = """!document.querySelector(
  '[data-testid="stApp"][data-test-script-state="running"], [data-testid="stSkeleton"]')"""
SHOTS = Path(__file__).parent / "shots"
PICTURES = ROOT / "docs" / "pictures"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here; .ci/run installs it")


@pytest.fixture(scope="module")
def home(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demonstration, to decide in."""
    return Path(shutil.copytree(demo_home, tmp_path_factory.mktemp("served") / "home"))


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The pages of a home, served as `headway app` serves them."""
    port = free_port()
    command = [sys.executable, "-m", "pipelines.cli", "app", "--port", str(port)]
    serving = subprocess.Popen(
        [*command, "--home", str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        address = f"http://127.0.0.1:{port}"
        assert serving.stdout is not None
        assert serving.stdout.readline().strip() == address  # told once every page was run
        yield address
    finally:
        serving.terminate()
        serving.communicate()


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """The demonstration's pages."""
    with served(home) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


class Reader:
    """Somebody before a browser of a width, in a theme."""

    def __init__(self, browser: Any, address: str, width: int = 1280, theme: str = "light") -> None:
        self.address = address
        self.width, self.theme = width, theme
        self.page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, locale="en-GB"
        )

    def open(self, path: str) -> None:
        """Follow a link and wait until the page stands."""
        self.page.goto(f"{self.address}/{path}")
        self.settled()

    def settled(self) -> None:
        """Wait until the page has a title and Streamlit has run, and has not begun anew."""
        self.page.wait_for_selector("h1", timeout=30_000)
        for _ in range(2):
            self.page.wait_for_function(AT_REST, timeout=30_000)
            self.page.wait_for_timeout(700)

    def title(self) -> str:
        return format.spaced(self.page.locator("h1").first.inner_text())

    def text(self) -> str:
        return format.spaced(self.page.locator("[data-testid='stMain']").inner_text())

    def click_row(self, chart: int, row: int) -> None:
        """Click a row of a chart of rows."""
        found = self.page.locator("[data-testid='stVegaLiteChart']").nth(chart)
        found.scroll_into_view_if_needed()
        box = found.bounding_box()
        self.page.mouse.click(box["x"] + 20, box["y"] + 4 + 32 * row + 24)

    def keeps_its_width(self) -> bool:
        """Whether nothing is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    def shoot(self, name: str) -> None:
        """Save what the page looks like, from top to bottom."""
        SHOTS.mkdir(exist_ok=True)
        height = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        self.page.set_viewport_size({"width": self.width, "height": min(height, 5000)})
        self.page.wait_for_timeout(500)
        self.page.screenshot(path=SHOTS / f"{name}-{self.width}-{self.theme}.png")
        if os.environ.get("HEADWAY_PICTURES") and (self.width, self.theme) == (1280, "light"):
            PICTURES.mkdir(parents=True, exist_ok=True)
            picture = PICTURES / f"{name}.png"
            self.page.screenshot(
                path=picture,
                clip={"x": 0, "y": 0, "width": 1280, "height": min(height, 1500)},
            )
            # A palette makes it a third as large. It must keep thin bars in their own colours,
            # which one made by area does not.
            drawn = Image.open(picture).convert("RGB")
            drawn.quantize(256, Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)
        self.page.set_viewport_size({"width": self.width, "height": 900})


@pytest.fixture
def read(browser: Any, address: str) -> Iterator[Any]:
    """Makes readers, and closes their pages."""
    made: list[Reader] = []

    def reader(width: int = 1280, theme: str = "light", address: str = address) -> Reader:
        made.append(Reader(browser, address, width, theme))
        return made[-1]

    yield reader
    for one in made:
        one.page.close()


def job_json(home: Path, job: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "pipelines.cli", "job", job, "--format", "json"]
    found = subprocess.run(
        [*command, "--home", str(home)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


def test_a_lead_sees_whether_rollouts_may_start_and_which(read: Any) -> None:
    lead = read()
    lead.open(f"?as_of={AS_OF}")
    assert lead.title() == "Rollouts are frozen"
    assert "firmware: held" in lead.text()
    assert "security: yes" in lead.text()
    assert "of budget" in lead.page.content() or "What spent the goodput budget" in lead.text()
    lead.shoot("home")


def test_a_click_on_what_spent_the_budget_goes_deeper(read: Any) -> None:
    lead = read()
    lead.open(f"?as_of={RAN}")
    lead.click_row(1, row=1)
    lead.page.wait_for_url("**category=restart**")
    lead.settled()
    lead.click_row(2, row=1)
    lead.page.wait_for_url("**cause=hardware**")
    assert "category=restart" in lead.page.url  # the way down is kept


def test_a_click_in_the_waterfall_filters_the_timeline(read: Any) -> None:
    researcher = read()
    researcher.open(f"job?job=three-weeks&as_of={AS_OF}")
    researcher.click_row(0, row=4)
    researcher.page.wait_for_url("**category=preemption**")
    researcher.settled()
    life = researcher.page.locator("[data-testid='stVegaLiteChart']").nth(1)
    lost = life.locator("[aria-label*='Preemption']").count()
    assert lost > 0
    assert life.locator("[aria-label*='Maintenance'], [aria-label*='Start-up']").count() == 0


def test_a_researcher_finds_the_job_and_its_bars_sum_to_the_gap_of_the_command_line(
    read: Any, demo_home: Path
) -> None:
    researcher = read()
    researcher.open(f"job?as_of={AS_OF}")
    box = researcher.page.get_by_role("combobox").first
    box.click()
    box.fill("three-weeks")
    researcher.page.get_by_role("option").filter(has_text="three-weeks").first.click()
    researcher.page.wait_for_url("**job=three-weeks**")
    researcher.settled()
    assert researcher.title() == "81.0 % of 90 % useful"
    chart = researcher.page.locator("[data-testid='stVegaLiteChart']").first
    bars = chart.locator("[aria-roledescription='rect mark']")
    exact = [
        int(label.split("(")[1].split(" µs")[0].replace(",", ""))
        for label in bars.evaluate_all("marks => marks.map(mark => mark.ariaLabel || '')")
        if "What" in label and "Useful" not in label and "in all" not in label
        if "share" not in label.split("What: ")[1].split(";")[0]
    ]
    assert exact
    assert sum(exact) == job_json(demo_home, "three-weeks")["gap_us"]
    researcher.shoot("job")


def test_a_click_on_a_numbered_restart_of_the_timeline_opens_it(read: Any) -> None:
    researcher = read()
    researcher.open(f"job?job=three-weeks&as_of={AS_OF}")
    chart = researcher.page.locator("[data-testid='stVegaLiteChart']").nth(1)
    chart.scroll_into_view_if_needed()
    mark = chart.locator("[aria-label*='Restart: 3;']").last
    box = mark.bounding_box()
    researcher.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    researcher.page.wait_for_url("**restart=3**")
    researcher.settled()
    assert "3 of 11" in researcher.page.content()


def test_a_page_looks_back_as_far_as_its_address_says(read: Any) -> None:
    somebody = read()
    somebody.open(f"restarts?window=7d&as_of={AS_OF}")
    assert "in 7 days" in somebody.text()
    somebody.page.get_by_role("button", name="14 d").or_(
        somebody.page.get_by_role("radio", name="14 d")
    ).first.click()
    somebody.page.wait_for_url("**window=14d**")
    somebody.settled()
    assert "in 14 days" in somebody.text()
    somebody.open(f"restarts?window=year&as_of={AS_OF}")
    assert "window=year: say 1d, 7d, 14d, 30d" in somebody.text()


def test_a_link_leads_to_the_restart_that_it_names(read: Any) -> None:
    researcher = read(theme="dark")
    researcher.open(f"job?job=three-weeks&restart=3&as_of={AS_OF}")
    named = "() => document.documentElement.innerHTML.includes('3 of 11')"
    researcher.page.wait_for_function(named, timeout=30_000)
    assert "time to restart" in researcher.text()
    researcher.shoot("job")


@pytest.mark.parametrize(
    ("path", "name", "words"),
    [
        (f"restarts?as_of={AS_OF}", "restarts", "within the limit"),
        (f"queue?as_of={AS_OF}", "queue", "within"),
        (f"health?as_of={AS_OF}", "health", "of GPU time is known"),
        (f"checkpoints?as_of={AS_OF}", "checkpoints", "proven by a restore"),
        (f"capacity?as_of={AS_OF}", "capacity", "of installed GPU time is useful"),
        (f"waiting?as_of={AS_OF}", "waiting", "of waiting is explained"),
        (f"review?as_of={AS_OF}&week=2026-W47", "review", "Week 47"),
    ],
)
def test_the_other_questions_are_answered_each_on_its_page(
    read: Any, path: str, name: str, words: str
) -> None:
    somebody = read()
    somebody.open(path)
    assert words in somebody.text()
    assert somebody.keeps_its_width()
    somebody.shoot(name)


@pytest.mark.parametrize("path", ["", "job", "restarts", "queue", "capacity", "waiting"])
def test_a_page_fits_a_phone_in_the_dark(read: Any, path: str) -> None:
    phone = read(width=390, theme="dark")
    job = "&job=three-weeks" if path == "job" else ""
    phone.open(f"{path}?as_of={RAN}{job}")
    assert phone.keeps_its_width()
    phone.shoot(path or "home")


def test_a_phone_shows_why_each_decision_was_taken_without_scrolling(read: Any) -> None:
    phone = read(width=390)
    phone.open("decisions")
    why = phone.page.locator(".wide th").filter(has_text="Why").first
    box = why.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_the_freeze_changes_on_an_open_page_when_somebody_decides(read: Any, home: Path) -> None:
    lead = read()
    lead.open("decisions")
    before = lead.title()
    command = [sys.executable, "-m", "pipelines.cli", "freeze", "--who", "ada", "--why", "drill"]
    subprocess.run([*command, "--home", str(home)], cwd=ROOT, check=True, capture_output=True)
    lead.page.wait_for_function(
        "before => document.querySelector('h1').innerText !== before", arg=before, timeout=30_000
    )
    assert "in force" in lead.title()
    lead.open("")
    assert "frozen by hand" in lead.title()


def test_the_freeze_changes_on_an_open_page_while_a_refresh_publishes(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    monkeypatch.setattr("fleet.BASE_US", int((hour - timedelta(hours=720)).timestamp()) * 10**6)
    fleet = lost_72_of_720()
    late = [r for r in fleet.lifecycle if r["event"] in ("interruption", "job_ended")]
    fleet.lifecycle = [record for record in fleet.lifecycle if record not in late]
    fleet.tell("node_state", at(720), None, node="n1", gpus=8, state="idle")
    home = fleet.publish(tmp_path)
    with served(home.root) as address:
        lead = read(address=address)
        lead.open("")
        assert lead.title() == "Rollouts may start"
        # The job was silent; now it is told that it had been down for 71 hours.
        late_folder = tmp_path / "late"
        late_folder.mkdir()
        harness.write_jsonl(late_folder / "1.lifecycle.jsonl", fleet.lifecycle + late)
        harness.write_jsonl(late_folder / "1.steps.jsonl", fleet.steps)
        command = [sys.executable, "-m", "pipelines.cli", "ingest", str(late_folder)]
        subprocess.run([*command, "--home", str(home.root)], cwd=ROOT, check=True)
        lead.page.wait_for_function(
            "document.querySelector('h1').innerText === 'Rollouts are frozen'", timeout=60_000
        )
        lead.settled()
        assert "firmware: held" in lead.text()


SMALL = """[...document.querySelectorAll(
  '[data-testid="stCaptionContainer"] p, [data-testid="stCaptionContainer"] code, .wide th, .told'
)].map(e => {
  let seen = 1;
  for (let at = e; at; at = at.parentElement) seen *= Number(getComputedStyle(at).opacity);
  const ground = getComputedStyle(document.querySelector('.stApp')).backgroundColor;
  return [e.innerText, getComputedStyle(e).color, ground, seen];
})"""


def _luminance(rgb: str) -> float:
    """Of a colour as a browser says it (WCAG 2.2, relative luminance)."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_said_small_can_be_read(read: Any, theme: str) -> None:
    somebody = read(theme=theme)
    somebody.open(f"checkpoints?as_of={AS_OF}")
    said = somebody.page.evaluate(SMALL)
    assert len(said) > 5
    for text, color, ground, opacity in said:
        low, high = sorted(map(_luminance, (color, ground)))
        assert opacity == 1, text
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, color)
