-- Grain: a step record that conflicts with the one that stands, as quarantine keeps it; once, however
-- often it is delivered.
with conflicting as (
  select distinct file_id, step_record(job, attempt, step, ts_us, duration_us, data_wait_us,
      straggler_us, checkpoint_us, overhead_us, straggler_node) as raw
  from ranked join jobs using (job_id)
  where verdict = 'conflict'
)
select min(file_id) as file_id, null::bigint as line,
  'conflicts with another record of this step' as reason, raw
from conflicting
where raw not in (select raw from quarantine)
group by raw
