"""Dagster's job, run in this process: what the command line does when it changes anything."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb

from answers.home import Home
from metrics.errors import HeadwayError
from pipelines.defs.assets import derived, mart, raw_events
from pipelines.defs.prometheus import prometheus_samples
from pipelines.defs.site import Report, Site


@dataclass(frozen=True)
class Ingestion:
    """What to ingest, as the command line was given it."""

    paths: list[Path]
    source: str = "auto"
    timezone: str = "UTC"
    columns: tuple[str, ...] = ()

    def config(self) -> dict[str, Any]:
        """As Dagster's asset takes it."""
        return {
            "paths": [str(path) for path in self.paths],
            "source": self.source,
            "timezone": self.timezone,
            "columns": list(self.columns),
        }


@dataclass(frozen=True)
class Pull:
    """What to pull from Prometheus, as the command line was given it."""

    url: str | None = None
    from_us: int | None = None
    until_us: int | None = None

    def config(self) -> dict[str, Any]:
        """As Dagster's asset takes it, which has no word for what is not given."""
        return {
            "url": self.url or "",
            "from_us": self.from_us or 0,
            "until_us": self.until_us or 0,
        }


def run(
    home: Home,
    report: Report,
    ingestion: Ingestion | None = None,
    refresh: bool = True,
    as_of_us: int | None = None,
    rebuild: bool = False,
    pull: Pull | None = None,
) -> Report:
    """Ingest or pull where something is given, then derive and publish unless `refresh` is off.

    Raises what the assets raised where it is Headway's own (see metrics.errors), and HeadwayError
    with Dagster's message otherwise.
    """
    assets: list[Any] = []
    config: dict[str, Any] = {}
    if ingestion is not None:
        assets.append(raw_events)
        config["raw_events"] = {"config": ingestion.config()}
    if pull is not None:
        assets.append(prometheus_samples)
        config["prometheus_samples"] = {"config": pull.config()}
    if refresh:
        assets += [derived, mart]
        how = {"config": {"as_of_us": as_of_us or 0, "rebuild": rebuild}}
        config |= {"derivation": how, "mart": how}
    _materialize(assets, config, home, report)
    return report


def _materialize(assets: list[Any], config: dict[str, Any], home: Home, report: Report) -> None:
    try:
        with dg.DagsterInstance.ephemeral(settings={"telemetry": {"enabled": False}}) as instance:
            dg.materialize(
                assets,
                resources={"site": Site(home=str(home.root), retries=0), "report": report},
                run_config={
                    "ops": config,
                    "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                },
                instance=instance,
            )
    except (dg.DagsterError, duckdb.Error) as e:
        raise _ours(e) from e


def _ours(error: BaseException) -> HeadwayError:
    cause = error
    while following := cause.__cause__ or getattr(cause, "user_exception", None):
        if isinstance(following, HeadwayError):
            return following
        cause = following
    why = "" if cause is error else f" ({cause})"
    return HeadwayError(f"the run failed: {error}{why}")
