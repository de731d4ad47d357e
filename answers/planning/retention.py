"""Which checkpoints of a run to keep, what each is for, and the storage that they need."""

from typing import Any

from answers.wording import size as sized
from answers.wording import span
from metrics.checkpoint_retention import DAY_S, HOUR_S, Kept, Milestones, Rule, retention
from metrics.policy import Keeping


def rules(keep: Keeping, run_s: float) -> list[Rule]:
    """The policy's rules over a run of that many seconds."""
    every_s = keep.milestone_hours * HOUR_S
    return [
        Rule("newest", "restart; the next one where the newest is damaged", keep.newest, 0),
        Rule("hourly", "go back before a loss spike or a divergence", keep.hourly, HOUR_S),
        Rule("daily", "go back before silent corruption that took days to see", keep.daily, DAY_S),
        Milestones("milestones", "evaluate, publish, branch off", int(run_s // every_s), every_s),
    ]


def plan(bytes_each: int, interval_s: float, run_s: float, keep: Keeping) -> dict[str, Any]:
    """What is kept at the end of the run, when it is the most: counts, seconds and bytes.

    `peak_bytes` has room for the one that is being written while the others stay.
    """
    saved = int(run_s / interval_s)
    found = retention(rules(keep, run_s), interval_s, saved)
    kept = sum(row.only_here for row in found)
    return {
        "keep": [_row(row, bytes_each) for row in found],
        "saved": saved,
        "checkpoints": kept,
        "bytes": kept * bytes_each,
        "peak_bytes": (kept + 1) * bytes_each,
        "written_bytes": saved * bytes_each,
        "advice": _advice(found, kept, saved, bytes_each),
        "assumptions": [
            f"a checkpoint of {sized(bytes_each)} every {span(interval_s)} for {span(run_s)}",
            "a checkpoint that several rules keep is stored once, under the first of them",
            "nothing is deleted before what follows it is durable: room for one more",
        ],
    }


def _row(row: Kept, bytes_each: int) -> dict[str, Any]:
    return {
        "name": row.rule.name,
        "purpose": row.rule.purpose,
        "every_s": row.rule.every_s or None,
        "count": row.count,
        "only_here": row.only_here,
        "oldest_s": row.oldest_s,
        "bytes": row.only_here * bytes_each,
    }


def _advice(found: list[Kept], kept: int, saved: int, bytes_each: int) -> str:
    rules_said = ", ".join(f"{row.count:,} {row.rule.name}" for row in found if row.count)
    if not saved:
        return "The run ends before its first checkpoint: save more often."
    return (
        f"Keep {kept:,} of {saved:,} checkpoints ({rules_said}; some are several): at most"
        f" {sized((kept + 1) * bytes_each)} with the one being written, instead of"
        f" {sized(saved * bytes_each)}. Delete one only once a newer one passed a restore test."
    )
