"""The run of the mission: three weeks of one large job, eleven restarts, 96 hours lost.

All times are multiples of a unit of ten minutes; a step lasts one. Working, in units:

    startup       launch 1, load 1, first step 2                                   =   4
    an attempt    204 steps that count; all but the last attempt: 6 more, lost
    a restart     6 lost steps, 3 undetected, 36 in the queue, 2 launch, 3 load, 2 first step
                                                                                   =  52
    12 attempts   4 + 12 × 204 + 11 × 52 = 4 + 2,448 + 572                         = 3,024

3,024 units are 504 h (21 days). Useful are 2,448 units, 408 h; lost are 576, 96 h. So goodput is
408 / 504 = 80.952… %; a tenth of the wall, 50.4 h, may be lost, and 96 h are 45.6 h more.
"""

from build import Record, allocated, ended, interrupted, loaded, started, step, submitted

UNIT = 600
"""Seconds of a unit."""
ATTEMPTS = 12
KEPT = 204
LOST = 6
CYCLE = KEPT + 52
CAUSES = ("hardware", "network", "storage", "preemption")


def three_weeks() -> tuple[list[Record], list[Record]]:
    """The run as lifecycle and step records, from second 0 to the end of day 21."""
    lifecycle = [submitted(0, gpus=1024, expected_duration_us=504 * 3_600_000_000)]
    lifecycle += [allocated(0, gpus=1024), started(UNIT), loaded(2 * UNIT)]
    records: list[Record] = []
    for attempt in range(ATTEMPTS):
        # Its first step completes at unit 4, or two units after the state is restored.
        first = 4 + attempt * CYCLE
        number = attempt * (KEPT + 1) + 1
        last = attempt == ATTEMPTS - 1
        records += [
            step((first + n) * UNIT, number + n, UNIT, attempt)
            for n in range(1 + KEPT + (0 if last else LOST))
        ]
        if not last:
            noticed = first + KEPT + LOST + 3
            lifecycle += [
                interrupted(noticed * UNIT, CAUSES[attempt % 4], attempt),
                allocated((noticed + 36) * UNIT, attempt + 1, gpus=1024),
                started((noticed + 38) * UNIT, attempt + 1),
                loaded((noticed + 41) * UNIT, attempt + 1, after=number + KEPT),
            ]
    return [*lifecycle, ended(3_024 * UNIT)], records
