"""All that Dagster loads: `dagster dev -m pipelines.definitions`, and the command line's runs.

Named one by one rather than found by folder: finding them needs the project's own pyproject.toml,
which an installed wheel does not have.
"""

import dagster as dg

from pipelines.defs.assets import derived, mart, raw_events
from pipelines.defs.reviews import every_monday, review_job, weekly_review
from pipelines.defs.site import Report, Site

refresh_job = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all() - dg.AssetSelection.assets("weekly_review"),
    description="Ingest the inbox, derive, publish.",
)

defs = dg.Definitions(
    assets=[raw_events, derived, mart, weekly_review],
    jobs=[refresh_job, review_job],
    schedules=[every_monday],
    resources={"site": Site(), "report": Report()},
)
