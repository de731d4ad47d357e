"""The assets: raw_events → attempts → segments → ledger → goodput, capacity, restarts,
queue_waits → mart.

What is derived is one transaction of the warehouse, so the assets from attempts to queue_waits are
made by one step: a run that is killed between two of them leaves none of them half done.
"""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from pipelines.defs.site import Report, Site
from pipelines.derive import CHECKS, STAGES, FailedChecks, Refreshed, StageReport, refresh
from pipelines.ingest import ingest
from pipelines.privacy import Salt
from pipelines.publish import publish
from pipelines.sources import Settings
from pipelines.warehouse import one_row

POOL = "warehouse"
"""One run at a time writes the warehouse."""

FRESH = dg.FreshnessPolicy.time_window(
    warn_window=timedelta(hours=2), fail_window=timedelta(hours=4)
)
"""A refresh is due each hour: one that was missed warns, three fail."""

CHECKED_ASSET = {
    "job_hours_balance": "ledger",
    "no_negative_time": "segments",
    "keys_are_unique": "ledger",
    "capacity_is_whole": "capacity",
}


class IngestConfig(dg.Config):
    """What to ingest. No paths: the site's inbox, where it exists."""

    paths: list[str] = Field(default=[])
    source: str = "auto"
    timezone: str = "UTC"
    columns: list[str] = Field(default=[])


class RefreshConfig(dg.Config):
    """How to derive: as of a moment in µs (0: the latest stamp in the store), or from nothing."""

    as_of_us: int = 0
    rebuild: bool = False


@dg.asset(pool=POOL, description="Lifecycle and step records, each stored exactly once.")
def raw_events(
    context: dg.AssetExecutionContext,
    config: IngestConfig,
    site: Site,
    report: dg.ResourceParam[Report],
) -> dg.MaterializeResult[None]:
    started = time.perf_counter()
    home = site.places()
    inbox = home.root / "inbox"
    paths = [Path(path) for path in config.paths] or ([inbox] if inbox.is_dir() else [])
    policy = home.policy()
    settings = Settings(
        policy,
        ZoneInfo(config.timezone),
        tuple(config.columns) or None,
        Salt.of(policy.privacy, home.root),
    )
    with site.retrying(context.retry_number), site.warehouse() as con:
        done = ingest(con, paths, config.source, settings, report.files_found, report.file_done)
        rows, through_us = one_row(
            con,
            "select (select count(*) from events) + (select coalesce(sum(steps), 0) from"
            " step_groups), greatest((select max(ts_us) from events),"
            " (select max(last_ts_us) from step_groups))",
        )
    report.summaries, report.failures, report.skipped = done.summaries, done.failures, done.skipped
    return dg.MaterializeResult(
        metadata=_metadata(int(rows), time.perf_counter() - started, through_us)
        | {
            "new_records": sum(summary.new for summary in report.summaries),
            "quarantined": sum(summary.quarantined for summary in report.summaries),
            "unreadable_files": [str(failure) for failure in report.failures],
        }
    )


_UPSTREAM = {
    "attempts": ["raw_events", "prometheus_samples"],
    "segments": ["attempts"],
    "ledger": ["segments"],
    "goodput": ["ledger"],
    "capacity": ["ledger"],
    "restarts": ["segments"],
    "queue_waits": ["attempts"],
}


@dg.multi_asset(
    name="derivation",
    specs=[dg.AssetSpec(name, deps=_UPSTREAM[name]) for name, _, _ in STAGES],
    check_specs=[
        dg.AssetCheckSpec(check, asset=CHECKED_ASSET[check], blocking=True) for check in CHECKS
    ],
    pool=POOL,
)
def derived(
    context: dg.AssetExecutionContext,
    config: RefreshConfig,
    site: Site,
    report: dg.ResourceParam[Report],
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    with site.retrying(context.retry_number), site.warehouse() as con:
        try:
            report.refreshed = refresh(
                con,
                site.places().policy(),
                config.as_of_us or None,
                config.rebuild,
                report.stage_begins,
            )
        except FailedChecks as e:
            yield from _check_results(e.faults)
            raise
    yield from _materialized(report.refreshed)
    yield from _check_results({})


def _materialized(refreshed: Refreshed) -> Iterator[dg.MaterializeResult[None]]:
    done = {stage.name: stage for stage in refreshed.stages}
    for name, _, _ in STAGES:
        stage = done.get(name, StageReport(name, 0, 0.0))
        yield dg.MaterializeResult(
            asset_key=name, metadata=_metadata(stage.rows, stage.seconds, refreshed.as_of_us)
        )


def _check_results(faults: dict[str, list[str]]) -> Iterator[dg.AssetCheckResult]:
    for check in CHECKS:
        found = faults.get(check, [])
        yield dg.AssetCheckResult(
            passed=not found,
            check_name=check,
            asset_key=CHECKED_ASSET[check],
            metadata={"faults": len(found), "first": found[:5]},
        )


@dg.asset(
    deps=["goodput", "capacity", "restarts", "queue_waits"],
    pool=POOL,
    freshness_policy=FRESH,
    description="The published, read-only database that readers open.",
)
def mart(
    context: dg.AssetExecutionContext,
    config: RefreshConfig,
    site: Site,
    report: dg.ResourceParam[Report],
) -> dg.MaterializeResult[None]:
    started = time.perf_counter()
    report.stage_begins("publish")
    with site.retrying(context.retry_number), site.warehouse() as con:
        report.published = publish(
            con, site.places(), site.places().policy(), as_of_given=bool(config.as_of_us)
        )
        rows, through_us = one_row(
            con, "select (select count(*) from ledger), (select max(as_of_us) from refreshes)"
        )
    return dg.MaterializeResult(
        metadata=_metadata(rows, time.perf_counter() - started, through_us)
        | {"file": dg.MetadataValue.path(str(report.published))}
    )


def _metadata(rows: int, seconds: float, through_us: int | None) -> dict[str, dg.MetadataValue]:
    through = (
        dg.MetadataValue.text("no data")
        if through_us is None
        else dg.MetadataValue.timestamp(through_us / 1e6)
    )
    return {
        "rows": dg.MetadataValue.int(rows),
        "seconds": dg.MetadataValue.float(round(seconds, 3)),
        "data_through": through,
    }
