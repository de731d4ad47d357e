"""What a first view needs is made before it, and Streamlit's files go out as Streamlit has them."""

import asyncio
import socket
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fleet import at, lost_72_of_720
from pages import MAIN
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit import file_util
from streamlit.testing.v1 import AppTest

from answers.home import Home
from app import charts, frame, store, warming
from app.assets import Assets
from app.serve import to_the_first_page
from app.streamlit_app import PAGES
from app.views import cluster
from metrics.errors import HeadwayError, UsageError
from pipelines.served import run_pages

NAMES = [name for section in PAGES.values() for name, _, _ in section]
STATIC = Path(file_util.get_static_dir())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that pages show at one moment, however long a test takes."""
    monkeypatch.setattr(frame, "present_us", lambda: at(721))
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    return lost_72_of_720().publish(tmp_path)


def view(page: str, **address: str) -> AppTest:
    run = AppTest.from_file(str(MAIN), default_timeout=60).run()
    run.query_params.update(address)
    return run.switch_page(f"app_pages/{page}.py").run()


def test_after_the_start_no_page_asks_anything_that_was_not_asked_before(home: Home) -> None:
    warming.warm(MAIN)
    asked = set(store.snapshot()._answers)
    for name in NAMES:
        run = view(name, **({"job": "big"} if name == "job" else {}))
        assert not run.exception
    assert set(store.snapshot()._answers) == asked
    assert {key[1] for key in asked} >= {"cards", "course", "wall", "review"}


def test_every_kind_of_chart_is_built_in_both_themes_before_anybody_looks(home: Home) -> None:
    folder = Path(charts.__file__).parent
    kinds = [
        import_module(f"app.charts.{file.stem}")
        for file in folder.glob("*.py")
        if "def template(" in file.read_text(encoding="utf-8")
    ]
    assert len(kinds) > 1
    for kind in kinds:
        kind.template.cache_clear()
    warming.warm(MAIN)
    assert {kind.template.cache_info().currsize for kind in kinds} == {2}


def test_what_is_published_later_has_the_first_pages_answers_before_anybody_looks(
    home: Home, tmp_path: Path
) -> None:
    before = store.snapshot()
    fleet = lost_72_of_720()
    fleet.publish(tmp_path)
    warming.ask_first(store.snapshot(), frame.present_us())
    assert store.snapshot() is not before
    asked = set(store.snapshot()._answers)
    assert "frozen" in view("home").title[0].value
    assert {key[1] for key in set(store.snapshot()._answers) - asked}.isdisjoint(
        {"cards", "course", "permits"}
    )


@pytest.mark.parametrize("content", ["nothing", "no home", "a broken mart"])
def test_a_home_that_cannot_be_read_keeps_no_server_from_starting(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    if content != "no home":
        Home.open(tmp_path / "home")
    if content == "a broken mart":
        mart = lost_72_of_720().publish(tmp_path).mart
        (mart / (mart / "CURRENT").read_text(encoding="utf-8").strip()).write_bytes(b"broken")
    warming.warm(MAIN)
    with pytest.raises(HeadwayError):
        store.snapshot()


def test_a_snapshot_is_opened_once_and_the_two_newest_are_kept(home: Home, tmp_path: Path) -> None:
    seen = [store.snapshot()]
    assert store.snapshot() is seen[0]
    for _ in range(2):
        lost_72_of_720().publish(tmp_path)
        seen.append(store.snapshot())
    assert len({id(snapshot) for snapshot in seen}) == 3
    kept = list(store._open.values())
    assert [snapshot in kept for snapshot in seen] == [False, True, True]


def ask(path: str) -> tuple[dict[bytes, bytes], bytes]:
    """The head and the body of the answer to a GET; `passed on` where it is Streamlit's."""
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    asyncio.run(Assets(PlainTextResponse("passed on"))(scope, receive, send))
    return dict(told[0]["headers"]), told[1]["body"]


def test_each_of_streamlits_files_goes_out_whole_and_for_ever() -> None:
    files = [path for path in (STATIC / "static").rglob("*") if path.is_file()]
    assert any(path.suffix == ".js" for path in files)
    for path in files:
        head, body = ask(f"/{path.relative_to(STATIC)}")
        assert body == path.read_bytes()
        assert b"immutable" in head[b"cache-control"]
        if path.suffix == ".js":
            assert b"javascript" in head[b"content-type"]


@pytest.mark.parametrize("path", ["/", "/job", "/static/js/none.js", "/static/../index.html"])
def test_whatever_else_is_asked_is_streamlits_to_answer(path: str) -> None:
    assert ask(path)[1] == b"passed on"


def test_the_first_page_is_found_where_its_name_leads_with_what_the_address_says() -> None:
    app = Starlette(routes=[Route("/home", to_the_first_page)])
    asked = {"method": "GET", "path": "/home", "query_string": b"scope=cluster%3Da"}
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        told.append(dict(message))

    asyncio.run(app({"type": "http", "headers": []} | asked, receive, send))
    assert told[0]["status"] == 307
    assert (b"location", b"./?scope=cluster%3Da") in told[0]["headers"]


def test_a_head_and_the_first_of_many_charts_are_given_time_to_stand_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(frame.time, "sleep", waits.append)
    run = view("home")
    assert len(run.get("vega_lite_chart")) > 1
    run.run()
    assert waits.count(frame.HEAD_START_S) == 1
    assert waits.count(frame.CHART_START_S) == 1


def test_a_port_that_is_taken_is_told_before_anything_is_made(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port} .* say another with --port"):
            run_pages(home, port)


def test_a_page_that_fails_says_so_to_whoever_opens_it_and_not_at_the_start(
    home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no such table")

    monkeypatch.setattr(cluster, "planned", failing)
    warming.warm(MAIN)
    assert capfd.readouterr() == ("", "")
    assert "no such table" in view("home").exception[0].value
