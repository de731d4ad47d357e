-- Grain: a step of a group to derive that must be painted by itself: it is not settled, or something
-- cuts into its group, or it is the first of its attempt, lost or slow. All others painted what their
-- group has summed up. In most groups only what is unsettled or slow is picked: there the least limit
-- of all (the variable least_slow_us) lets the reader pass over the others by one column.
with picking as (
  select *, is_plain and superseded_above is null and first_ts_us is null as by_compute_alone
  from dirty_contexts
)
select s.group_id, s.step, s.ts_us, s.before_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us, s.compute_us, s.straggler_node
from steps s join picking c using (group_id)
where c.by_compute_alone and (s.compute_us is null or s.compute_us > 2 * c.baseline_us)
  and (s.compute_us is null or s.compute_us > getvariable('least_slow_us')::bigint)
union all
select s.group_id, s.step, s.ts_us, s.before_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us, s.compute_us, s.straggler_node
from steps s join picking c using (group_id)
where not c.by_compute_alone and (not c.is_plain or s.compute_us is null
  or s.ts_us = c.first_ts_us or s.step > c.superseded_above or s.compute_us > 2 * c.baseline_us)
