"""A mart as it stood at a moment: every question asked of it is answered as of then.

On one connection the names of its tables stand for what they held by then, one SELECT of `sql/cut/`
a table, so that no question need know of it. The moment ends a UTC hour, as the window of a budget
does: the ledger's hours are counted whole, and what a job lost and its useful time sum to its
wall-clock then as now. What has become known since of the hours before it is told with them: work
that a later restart threw back counts as lost, as it does in the budget of that moment.
"""

import sql
from answers.mart import Mart
from metrics.conventions import HOUR_US

CUT = (
    "meta",
    "ledger",
    "capacity",
    "restart_losses",
    "straggler_losses",
    "step_hours",
    "stretches",
    "suspensions",
    "jobs",
    "attempts",
    "restarts",
    "queue_waits",
    "wait_story",
    "wait_parts",
    "wait_holds",
    "wait_turns",
    "contracts",
    "holds",
    "loans",
    "restore_tests",
    "saved_checkpoints",
    "checkpoints",
    "saves",
    "resumptions",
    "job_nodes",
    "maintenance",
    "rollouts",
    "samples",
)
"""Tables that are cut at a moment; one that reads others stands after them."""

UNDATED = ("findings", "quarantine", "files", "pulls")
"""Tables that say what is known now: nothing in them tells since when, but for what arrived."""

_KEPT = ("jobs",)
"""What is asked again and again, and sums a whole table."""


def cut(mart: Mart, until_us: int) -> None:
    """Let the names of the mart's tables stand for what they held at the end of an hour, in µs.

    Only on this connection. Raises ValueError for a moment inside an hour, HeadwayError where
    another version published the mart.
    """
    if until_us % HOUR_US:
        raise ValueError(f"{until_us}: not the end of an hour")
    mart.let("until_us", until_us)
    published = mart.qualifier()
    for name in (*CUT, "open_jobs"):
        name_it = mart.keep if name in _KEPT else mart.define
        name_it(name, sql.read(f"cut/{name}").replace("published.", published))
    mart.define("waiting", sql.read("waits/waiting"))
