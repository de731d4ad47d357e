"""The inbox's sensor: one run for what is new, nothing forgotten, nothing asked for without end."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

from pipelines.definitions import defs
from pipelines.defs.inbox import (
    DIGEST_TAG,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    hourly_refresh,
    inbox_digest,
    inbox_sensor,
    pause_s,
)

_REPOSITORY = RepositoryPythonOrigin("python", ModuleCodePointer("pipelines.definitions", "defs"))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def tick(instance: dg.DagsterInstance) -> dg.RunRequest | str:
    """What the sensor asks for, or why for nothing."""
    answer = inbox_sensor(dg.build_sensor_context(instance=instance))
    if isinstance(answer, dg.SkipReason):
        return answer.skip_message or ""
    assert isinstance(answer, dg.RunRequest)
    return answer


def requested(instance: dg.DagsterInstance) -> dg.RunRequest:
    answer = tick(instance)
    assert isinstance(answer, dg.RunRequest), answer
    return answer


def launched(instance: dg.DagsterInstance, request: dg.RunRequest) -> str:
    """The run that the daemon makes of a request."""
    job = defs.resolve_job_def("refresh")
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("headway"), "__repository__")
    run = instance.create_run_for_job(
        job,
        tags=request.tags,
        status=dg.DagsterRunStatus.QUEUED,
        remote_job_origin=RemoteJobOrigin(place, job.name),
        job_code_origin=JobPythonOrigin(job.name, _REPOSITORY),
    )
    return run.run_id


def end(instance: dg.DagsterInstance, run_id: str, well: bool) -> None:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    if well:
        event = dg.DagsterEvent(event_type_value="PIPELINE_SUCCESS", job_name=run.job_name)
        instance.report_dagster_event(event, run_id=run_id)
    else:
        instance.report_run_failed(run)


def test_an_empty_or_absent_inbox_asks_for_nothing(
    inbox: Path, instance: dg.DagsterInstance
) -> None:
    assert "no complete file" in str(tick(instance))
    inbox.rmdir()
    assert "no complete file" in str(tick(instance))


@pytest.mark.parametrize("name", ["a.jsonl.tmp", "a.part", ".a.jsonl", "a.swp"])
def test_a_file_that_is_still_written_asks_for_nothing(
    inbox: Path, instance: dg.DagsterInstance, name: str
) -> None:
    (inbox / name).write_text("half")
    assert "no complete file" in str(tick(instance))


def test_new_files_ask_for_one_run_while_it_is_queued_and_after_it_succeeded(
    inbox: Path, instance: dg.DagsterInstance
) -> None:
    for name in ("a", "b"):
        (inbox / name).write_text(name)
    run = launched(instance, requested(instance))
    assert "queued or at work" in str(tick(instance))
    end(instance, run, well=True)
    assert "was ingested" in str(tick(instance))
    (inbox / "c").write_text("c")
    assert isinstance(tick(instance), dg.RunRequest)


def test_a_crash_between_two_ticks_forgets_nothing(
    inbox: Path, instance: dg.DagsterInstance
) -> None:
    (inbox / "a").write_text("a")
    first = requested(instance)
    assert requested(instance).run_key == first.run_key  # nothing was launched: the same again


def test_a_run_that_failed_is_asked_for_again_under_another_key_after_a_pause(
    inbox: Path, instance: dg.DagsterInstance
) -> None:
    (inbox / "a").write_text("a")
    request = requested(instance)
    end(instance, launched(instance, request), well=False)
    assert "1 runs for what is in the inbox failed" in str(tick(instance))
    records = list(
        instance.get_run_records(dg.RunsFilter(tags={DIGEST_TAG: request.tags[DIGEST_TAG]}))
    )
    ended = records[0].end_time
    assert ended is not None
    assert pause_s(records, ended + FIRST_PAUSE_S - 1) == pytest.approx(1)
    assert pause_s(records, ended + FIRST_PAUSE_S) == 0
    assert pause_s(records * 20, ended) == LONGEST_PAUSE_S
    assert pause_s(records, ended - 1) == 0, "a clock that stepped back must not hold it up"


def test_a_new_file_does_not_wait_for_the_pause_of_others(
    inbox: Path, instance: dg.DagsterInstance
) -> None:
    (inbox / "a").write_text("a")
    end(instance, launched(instance, requested(instance)), well=False)
    (inbox / "b").write_text("b")
    assert isinstance(tick(instance), dg.RunRequest)


def test_a_change_of_content_changes_the_digest_though_size_and_times_stay(inbox: Path) -> None:
    file = inbox / "a"
    file.write_text("one")
    before, seen = inbox_digest(inbox), file.stat()
    time.sleep(0.02)  # the kernel stamps a change of an inode in steps of a few ms
    file.write_text("two")
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert file.stat().st_mtime_ns == seen.st_mtime_ns
    assert inbox_digest(inbox) != before


def test_the_hour_asks_for_a_refresh_unless_one_is_queued(instance: dg.DagsterInstance) -> None:
    context = dg.build_schedule_context(instance=instance)
    assert isinstance(hourly_refresh(context), dg.RunRequest)
    launched(instance, dg.RunRequest())
    assert isinstance(hourly_refresh(context), dg.SkipReason)
