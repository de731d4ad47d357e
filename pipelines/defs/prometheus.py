"""The pull from Prometheus as an asset, with a schedule for sites whose policy names a server."""

import dagster as dg

from answers.home import Home
from pipelines.defs.assets import POOL
from pipelines.defs.site import Report, Site


class PullConfig(dg.Config):
    """From where and when to pull. Empty or 0: what the policy says, and up to now."""

    url: str = ""
    from_us: int = 0
    until_us: int = 0


@dg.asset(pool=POOL, description="Node states and samples of the cluster, pulled from Prometheus.")
def prometheus_samples(
    context: dg.AssetExecutionContext,
    config: PullConfig,
    site: Site,
    report: dg.ResourceParam[Report],
) -> dg.MaterializeResult[None]:
    from pipelines.prometheus.pulling import pull  # its client is slow to import

    home = site.places()
    settings = home.policy().prometheus
    if not (config.url or settings.url):
        return dg.MaterializeResult(metadata={"skipped": "the policy names no Prometheus"})
    with site.retrying(context.retry_number), site.warehouse() as con:
        pull(
            con,
            settings,
            config.url or None,
            home.root,
            config.from_us or None,
            config.until_us or None,
            report.chunk_pulled,
        )
    return dg.MaterializeResult(
        metadata={
            "chunks": len(report.pulled),
            "points": sum(pulled.counts.points for pulled in report.pulled),
            "node_states": sum(pulled.counts.records for pulled in report.pulled),
            "gaps": sum(pulled.counts.gaps for pulled in report.pulled),
        }
    )


pull_job = dg.define_asset_job(
    "pull_prometheus",
    selection=dg.AssetSelection.assets("prometheus_samples"),
    description="Pull what is new from the Prometheus that the policy names.",
)


@dg.schedule(
    job=pull_job,
    cron_schedule="55 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="A pull each hour, before the refresh, where the policy names a Prometheus.",
)
def hourly_pull(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    if Home.open().policy().prometheus.url is None:
        return dg.SkipReason("the policy names no Prometheus (prometheus.url)")
    return dg.RunRequest()
