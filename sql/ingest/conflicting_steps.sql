-- Grain: a step record that conflicts with the one that stands, as quarantine keeps it; once, however
-- often it is delivered. Its line is that of its first delivery in the file at work, and not known
-- where it was stored before. Parameter: $file_id.
with conflicting as (
  select distinct file_id, job, attempt, step, step_record(job, attempt, step, ts_us, duration_us,
      data_wait_us, straggler_us, checkpoint_us, overhead_us, straggler_node) as raw
  from ranked join jobs using (job_id)
  where verdict = 'conflict'
),
delivered as (
  select coalesce(line, rowid + 1) as line, step_record(job, attempt, step, ts_us, duration_us,
      data_wait_us, straggler_us, checkpoint_us, overhead_us, straggler_node) as raw
  from incoming semi join conflicting using (job, attempt, step)
)
select min(file_id) as file_id, case when min(file_id) = $file_id then min(line) end as line,
  'conflicts with another record of this step' as reason, raw
from conflicting left join delivered using (raw)
where raw not in (select raw from quarantine)
group by raw
