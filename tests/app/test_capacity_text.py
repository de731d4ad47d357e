"""The named figures of capacity in words: what nobody knows is said, and is not 0 %."""

from app import capacity_text
from metrics.capacity import Spent
from metrics.conventions import HOUR_US as H
from metrics.policy import Price

FREE = Price(per_gpu_hour=0)
RECORDED = {("useful", "step"): 60 * H, ("restart", "requeue"): 10 * H, ("idle", "node"): 10 * H}
ON_PURPOSE = {("warm_pool", "node"): 10 * H}
HIDDEN = {("uninstrumented", "run"): 10 * H}


def said(text: str) -> str:
    """With plain spaces: a page's number and its unit stay on one line."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_where_all_jobs_record_steps_both_shares_are_exact() -> None:
    spent = Spent(RECORDED | ON_PURPOSE | {("down", "node"): 10 * H})
    assert said(capacity_text.title(spent)) == "60.0 % of installed GPU time is useful"
    assert said(capacity_text.sentence(spent, FREE)) == (
        "Busy share **60.0 %** (useful steps of what is installed), allocated share **70.0 %**. The"
        " gap of 40.0 % is **10.0 %** on purpose (reserves, draining, maintenance) and **30.0 %**"
        " the rest."
    )


def test_where_some_jobs_record_no_steps_the_busy_share_is_the_least() -> None:
    spent = Spent(RECORDED | ON_PURPOSE | HIDDEN)
    assert said(capacity_text.title(spent)) == "At least 60.0 % of installed GPU time is useful"
    assert said(capacity_text.sentence(spent, FREE)) == (
        "Busy share **at least 60.0 %** (useful steps of what is installed), allocated share"
        " **80.0 %**. The gap of at most 40.0 % is **10.0 %** on purpose (reserves, draining,"
        " maintenance) and **30.0 %** the rest (10.0 % with jobs that record no steps)."
    )


def test_where_no_job_records_steps_the_busy_share_is_unknown_for_the_whole_and_for_a_tenant() -> (
    None
):
    spent = Spent(ON_PURPOSE | HIDDEN)
    assert "unknown" in said(capacity_text.title(spent))
    assert said(capacity_text.sentence(spent, FREE)) == (
        "Busy share **unknown** (useful steps of what is installed), allocated share **50.0 %**. No"
        " job that held GPUs told of a useful step; **50.0 %** on purpose (reserves, draining,"
        " maintenance) is all that is known of the gap."
    )
    rows = capacity_text.tenants({"a": Spent(HIDDEN), "b": Spent(RECORDED)}, FREE)
    assert [(row["Tenant"], said(row["Useful"])) for row in rows] == [
        ("a", "unknown"),
        ("b", "75.0 %"),
    ]
