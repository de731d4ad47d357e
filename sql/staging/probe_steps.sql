-- Grain: a step of a group to be probed. Of two steps of an attempt that end at one moment only the
-- lower number can be its first (the other is painted the same either way: not at all).
select * replace (
    is_first and step = min(step) over (partition by group_id, ts_us) as is_first)
from painted_steps('steps', 'placements') semi join probe_groups using (group_id)
