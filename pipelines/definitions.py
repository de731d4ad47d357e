"""All that Dagster loads: what `headway up` serves, and the command line's runs.

Named one by one rather than found by folder: finding them needs the project's own pyproject.toml,
which an installed wheel does not have.
"""

import dagster as dg

from pipelines.defs.assets import derived, mart, raw_events
from pipelines.defs.checks import quality
from pipelines.defs.housekeeping import daily_housekeeping, housekeeping
from pipelines.defs.inbox import hourly_refresh, inbox_sensor
from pipelines.defs.prometheus import hourly_pull, prometheus_samples, pull_job
from pipelines.defs.restore_tests import (
    daily_restore_tests,
    restore_tests,
    restore_tests_job,
)
from pipelines.defs.reviews import every_monday, review_job, weekly_review
from pipelines.defs.site import Report, Site

refresh_job = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all()
    - dg.AssetSelection.assets("weekly_review", "restore_tests", "prometheus_samples"),
    description="Ingest the inbox, derive, publish, look at the quality.",
)

defs = dg.Definitions(
    assets=[raw_events, derived, mart, weekly_review, restore_tests, prometheus_samples],
    asset_checks=[quality],
    jobs=[refresh_job, review_job, restore_tests_job, housekeeping, pull_job],
    schedules=[
        hourly_refresh,
        every_monday,
        daily_restore_tests,
        daily_housekeeping,
        hourly_pull,
    ],
    sensors=[inbox_sensor],
    resources={"site": Site(), "report": Report()},
    executor=dg.in_process_executor,  # a run is one process: a kill ends all of it
)
