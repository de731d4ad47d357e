"""The contracts between the platform and its jobs: their names, and what each promises.

How each is judged stands in `sql/contracts/`, a SELECT of the same name.
"""

CONTRACTS = {
    "gang_start": "a gang starts with all its GPUs or not at all",
    "staged_data": "data is staged before the process starts",
    "tier_preemption": "only a higher tier preempts",
    "preemption_signal": "a preemption is signalled",
    "preemption_checkpoint": "a preempted job saves within its grace window",
    "preemption_grace": "GPUs are not reclaimed before the grace window is over",
    "preemption_requeue": "a preempted job is requeued by itself",
    "preemption_loss": "a preemption loses at most one checkpoint interval",
    "failure_loss": "one failure loses at most one checkpoint interval",
    "backfill_loan": "reserved GPUs are lent to preemptible work only, and it leaves on time",
    "guaranteed_share": "a tenant gets its guaranteed share before others borrow",
}
"""In the order in which they are shown."""

UNEXPLAINED = "unexplained"
"""The reason of time in the queue for which no reason was given."""

HELD_REASONS = ("user_hold", "dependency")
"""Reasons of waiting that the job's owner asked for."""
