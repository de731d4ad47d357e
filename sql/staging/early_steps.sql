-- Grain: a step of an attempt whose baseline must be measured, up to the moment when the first 102
-- steps of it had ended: with the columns that painting reads.
with ended as (
  select g.job_id, g.attempt, list_max(min(s.ts_us, 102)) as last_us
  from steps s join stale_groups g using (group_id)
  group by g.job_id, g.attempt
)
select s.group_id, s.step, s.ts_us, s.before_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us
from steps s join stale_groups g using (group_id)
join ended e on e.job_id = g.job_id and e.attempt = g.attempt and s.ts_us <= e.last_us
