"""Dagster's own directory inside a home: its settings, and the runs that a kill left behind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from string import Template

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter
from sqlalchemy.exc import DBAPIError

from answers.home import Home
from metrics.errors import StorageFault
from pipelines.faults import storage_faults

UNDER_WAY = [
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


def folder(home: Home) -> Path:
    """Where Dagster keeps what is its own: DAGSTER_HOME."""
    return home.root / "dagster"


def prepare(home: Home) -> Path:
    """Make the directory and write Dagster's settings from the site's policy; the directory.

    Raises PolicyError, and StorageFault where it cannot be written.
    """
    place = folder(home)
    template = Template(files("pipelines").joinpath("dagster.yaml").read_text(encoding="utf-8"))
    settings = template.substitute(
        keep_days=home.policy().housekeeping.keep_days, logs=_quoted(place / "logs")
    )
    with storage_faults(home.root):
        place.mkdir(parents=True, exist_ok=True)
        unfinished = place / "dagster.yaml.tmp"
        unfinished.write_text(settings, encoding="utf-8")
        unfinished.replace(place / "dagster.yaml")
    return place


def _quoted(path: Path) -> str:
    """A path as a YAML string of single quotes."""
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def opened(home: Home) -> Iterator[dg.DagsterInstance]:
    """Dagster with this home's directory, which `prepare` made; its children find it there too.

    Raises StorageFault where its databases cannot be read or written.
    """
    place = folder(home)
    os.environ["DAGSTER_HOME"] = str(place)
    try:
        with storage_faults(place), dg.DagsterInstance.get() as instance:
            yield instance
    except DBAPIError as e:
        raise StorageFault(
            f"{place}: Dagster's list of runs cannot be kept ({e.orig}). Where the disk is full or"
            " read-only, mend that and start again; where the list is damaged, move this directory"
            " away: the records and what was derived of them are no part of it"
        ) from e


def end_leftovers(instance: dg.DagsterInstance) -> int:
    """Tell the runs that an earlier `headway up` left under way as failed; how many they were.

    To be called while no service runs, so none of them can be at work. Each is started anew by
    Dagster's run retries.
    """
    left = instance.get_runs(RunsFilter(statuses=UNDER_WAY))
    for run in left:
        instance.report_run_failed(run, "It ended with the `headway up` that had started it.")
    return len(left)
