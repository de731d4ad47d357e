"""The SQL models against a second, plain Python reading of the accounting rules (reference.py).

HEADWAY_STREAMS sets how many random streams are compared.
"""

import os
from pathlib import Path
from typing import Any

import harness
import pytest
import reference
import streams

STREAMS = int(os.environ.get("HEADWAY_STREAMS", "320"))
BATCH = 20


@pytest.mark.parametrize("first_seed", range(0, STREAMS, BATCH))
def test_random_streams_with_disorder_give_what_the_plain_reading_gives(
    first_seed: int, tmp_path: Path
) -> None:
    for seed in range(first_seed, min(first_seed + BATCH, STREAMS)):
        lifecycle, steps = streams.random_stream(seed)
        as_of_us = streams.random_as_of(seed, lifecycle, steps) if seed % 3 == 2 else None
        with harness.fresh_warehouse() as con:
            harness.deliver(con, tmp_path, lifecycle, steps)
            harness.rederive(con, as_of_us)
            found = harness.answers(con)
        expected = plain_answers(reference.derive(lifecycle, steps, as_of_us))
        for question, answer in expected.items():
            assert found[question] == answer, f"seed {seed}, as of {as_of_us}: {question}"


def plain_answers(derived: reference.Derived) -> dict[str, Any]:
    """What the plain reading says, in the shape of harness.answers."""
    jobs = derived.jobs.items()
    return {
        "ledger": {name: job.ledger for name, job in jobs if job.ledger},
        "restarts": sorted(
            (_restart(name, restart) for name, job in jobs for restart in job.restarts),
            key=lambda row: row[:2],
        ),
        "waits": sorted(
            (name, w.submitted_us, w.started_us, w.wait_us, w.censored, w.basis)
            for name, w in derived.waits.items()
        ),
        "stragglers": sorted(
            (name, hour_us, node, us)
            for name, job in jobs
            for (hour_us, node), us in job.stragglers.items()
        ),
        "walls": sorted(
            (name, job.wall_start_us, _end_us(job), job.instrumented, job.silent)
            for name, job in jobs
        ),
    }


def _end_us(job: reference.JobResult) -> int | None:
    # A job that ended before it began has an empty wall; where it lies is nobody's question.
    if job.wall_start_us is None or job.wall_end_us is None:
        return None
    return max(job.wall_start_us, job.wall_end_us)


def _restart(name: str, restart: reference.Restart) -> tuple[Any, ...]:
    recovered_us = restart.recovered_us
    return (
        name,
        restart.detected_us,
        recovered_us,
        restart.cause,
        restart.outcome,
        restart.basis,
        restart.attempts_used,
        restart.interruptions,
        restart.lost_steps,
        None if recovered_us is None else recovered_us - restart.detected_us,
        *(restart.components[c] for c in ("detect", "requeue", "launch", "load", "first_step")),
    )
