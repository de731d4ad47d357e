"""A shared training cluster, simulated: every event of the accounting rules, and the truth.

The cluster is a discrete-event simulation (`engine`, `scheduling`, `hazards`); the steps of a
running attempt are laid out in arrays, an hour at a time (`stepping`). What happened is written
twice: as events (`recording`, `disorder`, `writing`), and as the ledger, restarts, waits, breaches
and capacity that follow from the simulator's own states (`truth`). No model of Headway is imported
here: the truth is there to judge them. All times are integer microseconds since 1970 UTC.
"""
