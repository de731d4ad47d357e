-- Grain: a step record, incoming (file_id is null: that of the file at work) or stored in a reopened
-- hour.
select job_id, attempt, step, ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us,
  overhead_us, straggler_node, null::integer as file_id
from incoming join jobs using (job)
union all by name
select g.job_id, g.attempt, s.step, s.ts_us, s.duration_us, s.data_wait_us, s.straggler_us,
  s.checkpoint_us, s.overhead_us, s.straggler_node, s.file_id
from steps s
join step_groups g using (group_id)
semi join reopened using (job_id, hour_us)
