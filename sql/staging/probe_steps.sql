-- Grain: a step of a group to be probed. Of two steps of an attempt that end at one moment only the
-- lower number can be its first (the other is painted the same either way: not at all).
select p.job_id, s.* replace (
    s.is_first and s.step = min(s.step) over (partition by s.group_id, s.ts_us) as is_first)
from painted_steps s join placements p using (group_id)
semi join probe_groups using (group_id)
