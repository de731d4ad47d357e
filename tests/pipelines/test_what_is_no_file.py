"""What paths name besides good files: links, pipes, closed folders, files that somebody changes."""

import gzip
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import harness
import pytest
from harness import take

from metrics.errors import UnreadableInput
from pipelines.ingest import find_files, ingest_file
from pipelines.sources import Record, Reject, Settings
from pipelines.sources.canonical import Canonical
from pipelines.sources.slurm import Slurm

ROW = "1|1|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:00:01|2026-10-01T00:00:02\n"
SACCT = "JobID|JobIDRaw|State|Submit|Start|End\n" + ROW + ROW.replace("COMPLETED", "LOST")


def event(job: str) -> str:
    """A line of the lifecycle stream."""
    fields = {"event": "job_suspended", "ts": "2026-10-01T12:00:00Z", "job": job}
    return json.dumps(fields) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one good file. It is named from the working directory: a user who may read
    little gets there."""
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    folder = Path("delivery")
    folder.mkdir()
    (folder / "good.jsonl").write_text(event("good"))
    return folder


def jobs(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The jobs of which something is stored."""
    return {job for (job,) in con.execute("select job from jobs").fetchall()}


@contextmanager
def as_nobody() -> Iterator[None]:
    """As a user whom permissions hold off, if root runs the tests."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


# --- links ---


def test_what_links_lead_to_is_read_once_however_they_run(
    con: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    other = Path("other")
    other.mkdir()
    (other / "linked.jsonl").write_text(event("linked"))
    Path("third.jsonl").write_text(event("third"))
    (folder / "other").symlink_to("../other")
    (folder / "same").symlink_to("../other")
    (folder / "itself").symlink_to(".")
    (other / "back").symlink_to("../delivery")
    (folder / "nothing.jsonl").symlink_to("absent")
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "file.jsonl").symlink_to("../third.jsonl")
    done = take(con, folder)
    assert (done.failures, done.skipped) == ([], [])
    assert jobs(con) == {"good", "linked", "third"}
    assert [summary.known for summary in done.summaries] == [False] * 3


def test_a_link_into_a_hidden_or_unfinished_name_is_judged_by_its_own_name(folder: Path) -> None:
    Path("data.tmp").write_text(event("a"))
    (folder / "link.jsonl").symlink_to("../data.tmp")
    (folder / ".hidden").symlink_to("..")
    assert [path.name for path in find_files([folder])] == ["good.jsonl", "link.jsonl"]


# --- what is no file ---


@pytest.mark.parametrize("source", ["auto", "canonical", "slurm", "mlperf"])
def test_a_pipe_a_socket_and_a_device_are_refused_at_once_and_passed_over_in_folders(
    con: duckdb.DuckDBPyConnection, folder: Path, source: str
) -> None:
    os.mkfifo(folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.jsonl"))
        named = [folder / "pipe.jsonl", folder / "socket.jsonl", Path("/dev/zero")]
        done = take(con, *named, source=source)
        assert [str(failure).split(":")[0] for failure in done.failures] == list(map(str, named))
        assert all("write what comes from it to a file" in str(told) for told in done.failures)
        assert [path.name for path in find_files([folder])] == ["good.jsonl"]


def test_a_folder_may_be_called_like_a_file(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    (folder / "a.jsonl").mkdir()
    (folder / "a.jsonl" / "b.jsonl").write_text(event("b"))
    assert take(con, folder).failures == []
    assert jobs(con) == {"good", "b"}


# --- permissions ---


def test_a_file_and_a_folder_that_may_not_be_read_are_told_and_the_others_kept(
    con: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    for name in ("closed", "unlisted"):
        (folder / name).mkdir()
        (folder / name / "a.jsonl").write_text(event(name))
    (folder / "secret.jsonl").write_text(event("secret"))
    (folder / "secret.jsonl").chmod(0)
    (folder / "closed").chmod(0)
    (folder / "unlisted").chmod(0o444)  # its names can be seen, and nothing more
    with as_nobody():
        done = take(con, folder, folder / "closed" / "a.jsonl")
    (folder / "closed").chmod(0o755)
    (folder / "unlisted").chmod(0o755)
    told = {str(failure) for failure in done.failures}
    assert told == {
        f"{folder}/{name}: cannot be read (Permission denied)"
        for name in ("closed", "closed/a.jsonl", "secret.jsonl", "unlisted/a.jsonl")
    }
    assert jobs(con) == {"good"}


# --- files that change ---


class Slow(Canonical):
    """Reads a file to which somebody writes meanwhile."""

    def __init__(self, more: str, replace: bool) -> None:
        self.more, self.replace = more, replace

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        yield from list(super().read(path, settings))
        if self.replace:
            path.with_suffix(".tmp").write_text(self.more)
            path.with_suffix(".tmp").replace(path)
        else:
            with path.open("a") as file:
                file.write(self.more)


@pytest.mark.parametrize("replace", [False, True], ids=["appended to", "replaced"])
def test_a_file_that_changes_while_it_is_read_is_refused_and_loses_nothing(
    con: duckdb.DuckDBPyConnection, folder: Path, replace: bool
) -> None:
    path = folder / "a.lifecycle.jsonl"
    path.write_text(event("a"))
    with pytest.raises(
        UnreadableInput, match=r"a\.lifecycle\.jsonl: was changed while it was read"
    ):
        ingest_file(con, path, Slow(event("b"), replace), Settings(harness.POLICY))
    assert (jobs(con), con.execute("from files").fetchall()) == (set(), [])
    assert take(con, path).failures == []
    assert jobs(con) == ({"b"} if replace else {"a", "b"})


def test_a_file_that_grows_between_two_deliveries_gives_what_is_new(
    con: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    path = folder / "a.lifecycle.jsonl"
    path.write_text(event("a") + event("b")[:30])
    (first,) = take(con, path).summaries
    path.write_text(event("a") + event("b"))
    (second,) = take(con, path).summaries
    assert (first.new, first.quarantined) == (1, 1)
    assert (second.new, second.duplicate, second.quarantined) == (1, 1, 0)


# --- names ---


def test_a_renamed_file_is_known_where_no_job_is_named_after_it(
    con: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    for name in ("a.psv", "b.psv"):
        (folder / name).write_text(SACCT)
    first, again = take(con, folder / "a.psv", folder / "b.psv").summaries
    assert (first.source, first.quarantined, again.known) == (Slurm.name, 1, True)
    assert con.execute("select count(*) from quarantine").fetchall() == [(1,)]


# --- archives ---


@pytest.mark.parametrize("stream", ["lifecycle", "steps"])
@pytest.mark.parametrize("members", [1, 2])
def test_an_archive_that_differs_from_its_checksum_is_told_and_its_records_kept(
    con: duckdb.DuckDBPyConnection, folder: Path, stream: str, members: int
) -> None:
    step = {"job": "j", "attempt": 0, "step": 1, "ts": "2026-10-01T12:00:00Z", "duration_s": 1}
    line = event("j") if stream == "lifecycle" else json.dumps(step) + "\n"
    packed = bytearray(gzip.compress(line.encode()) * members)
    packed[-8] ^= 1
    path = folder / f"a.{stream}.jsonl.gz"
    path.write_bytes(packed)
    (summary,) = take(con, path).summaries
    assert (summary.read, summary.new, summary.quarantined) == (members + 1, 1, 1)
    ((reason, raw),) = con.execute("select reason, raw from quarantine").fetchall()
    assert (reason, raw.split()[:2]) == ("truncated_file", ["CRC", "check"])


def test_an_archive_of_several_members_is_read_whole(
    con: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    text = (event("a") + event("b")).encode()
    path = folder / "a.lifecycle.jsonl.gz"
    path.write_bytes(gzip.compress(text[:20]) + gzip.compress(text[20:]) + bytes(512))
    (summary,) = take(con, path).summaries
    assert (summary.new, summary.quarantined) == (2, 0)
