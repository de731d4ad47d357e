"""The week's review as files, every Monday, for whoever keeps them."""

import dagster as dg

from metrics.errors import UsageError
from pipelines.defs.site import Site
from pipelines.served import write_review


@dg.asset(deps=["mart"], description="The last whole week's review, as HTML and Markdown.")
def weekly_review(site: Site) -> dg.MaterializeResult[None]:
    home = site.places()
    try:
        files = write_review(home, None, "fleet", home.root / "reviews")
    except UsageError as e:  # a new site: no week is over in its data
        return dg.MaterializeResult(metadata={"files": [], "why_none": str(e)})
    return dg.MaterializeResult(metadata={"files": [str(file) for file in files]})


review_job = dg.define_asset_job(
    "weekly_review_job", selection="weekly_review", description="Write the last week's review."
)

every_monday = dg.ScheduleDefinition(
    name="every_monday", job=review_job, cron_schedule="0 6 * * 1", execution_timezone="UTC"
)
