"""Checks that warn and block nothing, of the mart that readers see."""

from collections.abc import Iterator

import dagster as dg

from answers.mart import open_mart
from pipelines.defs.site import Site
from pipelines.watches import WATCHES, Watched, look


@dg.multi_asset_check(
    name="quality",
    specs=[dg.AssetCheckSpec(watch.name, asset="mart", blocking=False) for watch in WATCHES],
)
def quality(site: Site) -> Iterator[dg.AssetCheckResult]:
    """Judge the published mart by the policy's thresholds."""
    checks = site.places().policy().checks
    with open_mart(site.places()) as mart:
        for watch in WATCHES:
            yield _result(look(mart, checks, watch))


def _result(found: Watched) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        check_name=found.watch.name,
        asset_key="mart",
        passed=found.fine is not False,
        severity=dg.AssetCheckSeverity.WARN,
        description=found.in_words(),
        metadata={
            "value": "unknown" if found.value is None else float(found.value),
            "threshold": float(found.threshold),
            "window_days": found.window_days,
            "worst": dg.MetadataValue.table(
                [
                    dg.TableRecord(
                        {"name": row["name"], "part": str(row["part"]), "whole": str(row["whole"])}
                    )
                    for row in found.worst
                ],
                schema=_WORST,
            ),
        },
    )


_WORST = dg.TableSchema(
    [
        dg.TableColumn("name", description="The job or file"),
        dg.TableColumn("part", description="What is counted, in records or GPU-microseconds"),
        dg.TableColumn("whole", description="Of how much"),
    ]
)
