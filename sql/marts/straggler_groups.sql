-- Grain: (step group that has not been looked at yet, node): what its settled steps waited for the
-- node that they name. A settled step paints what it reports, unless it is picked.
select s.group_id, s.straggler_node as node, sum(s.straggler_us) as us
from steps s
semi join (from step_groups anti join step_hours using (group_id)) using (group_id)
where s.straggler_us > 0 and s.straggler_node is not null and s.compute_us is not null
group by s.group_id, s.straggler_node
