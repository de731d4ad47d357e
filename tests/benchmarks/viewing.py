"""How soon a page is on screen: a real browser, a server that has just told its address.

Times are the browser's own, from the start of the navigation: until the title, which is the page's
answer, is drawn; until nothing more changes in the first screen, its charts included; and until
all below it is drawn too.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright, sync_playwright

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
BLANK = "import streamlit as st\nst.title('Blank')\n"
"""Streamlit's own part: the floor of every page."""

RELOADS = 5
RESTS_MS = 1500
"""Between two views, in which charts are drawn."""

WATCH = """(() => {
  const seen = window.seen = {};
  const drawn = (node) => {
    const element = node.nodeType === 1 ? node : node.parentElement;
    if (!element?.closest?.('[data-testid="stMain"]')) return;
    const box = (element.ownerSVGElement ?? element).getBoundingClientRect();
    if (box.width && box.height && box.bottom > 0 && box.top < innerHeight)
      seen.screen = performance.now();
  };
  new MutationObserver((changes) => changes.forEach((change) =>
    (change.type === 'childList' ? [...change.addedNodes] : [change.target]).forEach(drawn)
  )).observe(document, {subtree: true, childList: true, characterData: true});
  const look = () => {
    const title = document.querySelector('h1')?.innerText;
    if (title) seen.title ??= performance.now();
    const busy = document.querySelector(
      '[data-testid="stApp"][data-test-script-state="running"], [data-testid="stSkeleton"]');
    if (busy || !title) delete seen.whole; else seen.whole ??= performance.now();
    requestAnimationFrame(look);
  };
  look();
})()"""


@dataclass(frozen=True)
class Sight:
    """Seconds until the title was drawn, the first screen was, and everything was."""

    title_s: float
    screen_s: float
    whole_s: float


@dataclass(frozen=True)
class Sights:
    """The first view of a page by a browser just started, and then its reloads."""

    first: Sight
    reloads: tuple[Sight, ...]

    def __str__(self) -> str:
        views = (self.first, *self.reloads)
        return "; ".join(
            f"{what} {_said([getattr(view, name) for view in views])}"
            for what, name in (
                ("title", "title_s"),
                ("first screen", "screen_s"),
                ("all", "whole_s"),
            )
        )


def _said(times_s: Sequence[float]) -> str:
    first_s, *again_s = times_s
    median_s, longest_s = statistics.median(again_s), max(again_s)
    return f"{first_s:.2f} s at first, {median_s:.2f} s reloaded (at most {longest_s:.2f} s)"


def blank(room: Path) -> Sights:
    """A page of Streamlit with nothing but a title, its server visited before."""
    script = room / "blank.py"
    script.write_text(BLANK, encoding="utf-8")
    options = ("--server.headless", "true", "--browser.gatherUsageStats", "false")
    command = ("-m", "streamlit", "run", str(script), *options, "--server.port")
    with _told(command) as address:
        _views(address, 0)
        return _views(address, RELOADS)


def page(root: Path, path: str) -> Sights:
    """A page of a home, its server just started."""
    with _told(("-m", "pipelines.cli", "app", "--home", str(root), "--port")) as address:
        return _views(f"{address}/{path}", RELOADS)


def _views(address: str, reloads: int) -> Sights:
    with sync_playwright() as playwright, _browser(playwright) as found:
        tab = found.new_page(viewport={"width": 1280, "height": 900})
        tab.add_init_script(WATCH)
        first, *more = (_look(tab, address) for _ in range(1 + reloads))
        return Sights(first, tuple(more))


@contextmanager
def _told(command: tuple[str, ...]) -> Iterator[str]:
    """A server until the end of the block, from the moment at which it tells its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *command, str(port)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        address = f"http://127.0.0.1:{port}"
        if not any(f":{port}" in line for line in process.stdout or ()):
            raise RuntimeError("the server did not start")
        yield address
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def _browser(playwright: Playwright) -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
    try:
        yield found
    finally:
        found.close()


def _look(tab: Any, address: str) -> Sight:
    tab.goto(address, wait_until="commit")
    tab.wait_for_function("window.seen?.whole", timeout=60_000)
    tab.wait_for_timeout(RESTS_MS)
    found = tab.evaluate("window.seen")
    return Sight(found["title"] / 1e3, found["screen"] / 1e3, found["whole"] / 1e3)
