-- Grain: a step of a group to derive that must be painted by itself: it is not settled, or something
-- cuts into its group, or it is the first of its attempt, lost or slow. All others painted what their
-- group has summed up.
select s.group_id, s.step, s.ts_us, s.before_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us, s.compute_us, s.straggler_node
from steps s join dirty_contexts c using (group_id)
where not c.is_plain or s.compute_us is null or s.ts_us = c.first_ts_us
  or s.step > c.superseded_above or s.compute_us > 2 * c.baseline_us
