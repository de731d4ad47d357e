"""How far the records can be trusted, and what each hole costs in known budget."""

from typing import Any

from answers import detail, questions
from answers.budgets import Moment
from answers.facts import Facts
from answers.mart import Mart
from metrics.scope import Scope


def quality(mart: Mart) -> dict[str, Any]:
    """Coverage, quarantine and findings (see answers.questions.quality)."""
    return questions.quality(mart)


def uninstrumented(facts: Facts, scope: Scope, as_of_us: int) -> list[dict[str, Any]]:
    """Jobs without step records in the window: GPU-µs that no budget knows, the most first."""
    moment = Moment.of(facts, as_of_us)
    return detail.uninstrumented_jobs(facts, scope, moment.start_us, moment.end_us)


def unattributed(facts: Facts, scope: Scope, as_of_us: int) -> list[dict[str, Any]]:
    """Large jobs by charged time that no record explains, with their wall, in GPU-µs."""
    moment = Moment.of(facts, as_of_us)
    rows = detail.spent_by(
        facts, "job", scope, moment.start_us, moment.end_us, {"category": "unattributed"}
    )
    span = (moment.start_us, moment.end_us)
    return [row | {"wall": detail.weighted_wall(facts, row["name"], *span)} for row in rows[:15]]


def silent(mart: Mart) -> list[dict[str, Any]]:
    """Jobs that are presumed gone, the longest silent last."""
    return mart.rows(
        "select job, tenant, tier, gpus, last_record_us from jobs where silent"
        " order by last_record_us desc, job limit 100"
    )


def quarantined(mart: Mart) -> int:
    """How many records were set aside."""
    (row,) = mart.rows("select count(*) as records from quarantine")
    return int(row["records"])


def examples(mart: Mart, most: int = 50) -> list[dict[str, Any]]:
    """Quarantined records with where they stood."""
    return mart.rows(
        "select path, line, reason, raw from quarantine order by path, line limit ?", [most]
    )


def files(mart: Mart) -> list[dict[str, Any]]:
    """What was ingested, by source."""
    return mart.rows(
        "select source, count(*) as files, sum(read_records)::bigint as records,"
        " sum(duplicate_records)::bigint as duplicates,"
        " sum(quarantined_records)::bigint as quarantined, max(ingested_at_us) as latest_us"
        " from files group by source order by records desc"
    )


def balance(mart: Mart) -> dict[str, int]:
    """The checks that every published mart has passed, counted again on what is published."""
    (row,) = mart.rows(
        "select (select count(*) from (select job, hour_us from ledger group by all)) as job_hours,"
        " (select count(*) from ledger where us <= 0) as not_positive,"
        " (select count(*) from jobs j where j.wall_us is not null and j.wall_us <>"
        "   (select coalesce(sum(us), 0) from ledger l where l.job = j.job)) as unbalanced_jobs,"
        " (select count(distinct hour_us) from capacity) as capacity_hours,"
        " (select count(*) from capacity where gpu_us <= 0) as capacity_not_positive"
    )
    return row
