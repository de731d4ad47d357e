-- Grain: a step of a group to derive that must be painted by itself.
select s.group_id, s.step, s.ts_us, s.before_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us, s.compute_us, s.straggler_node
from steps s join dirty_contexts c using (group_id)
where is_picked(c.is_plain, s.compute_us, s.ts_us = c.first_ts_us, s.step, c.superseded_above,
  c.baseline_us)
