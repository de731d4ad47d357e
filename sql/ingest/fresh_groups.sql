-- Grain: a new step group; see the schema. Parameter: $file_id.
with grouped as (
  select job_id, hour_us, attempt, count(*) as steps, min(ts_us) as first_ts_us,
    max(ts_us) as last_ts_us, min(step) as min_step, max(step) as max_step,
    max(case when before_us is null then ts_us - duration_us end) as head_begin_us
  from settled_steps
  group by all
),
settled as (
  select job_id, hour_us, attempt, count(*) as settled_steps,
    count(*) filter (is_clipped(ts_us - duration_us, before_us)) as settled_clipped_steps,
    sum(data_wait_us) as settled_loader_us, sum(compute_us) as settled_compute_us,
    sum(straggler_us) as settled_straggler_us, sum(checkpoint_us) as settled_checkpoint_us,
    sum(overhead_us) as settled_overhead_us
  from settled_steps where compute_us is not null
  group by all
)
select
  (next_group_id + row_number() over (order by hour_us, job_id, attempt) - 1)::integer as group_id,
  g.*, $file_id::integer as file_id,
  coalesce(s.settled_steps, 0) as settled_steps,
  coalesce(s.settled_clipped_steps, 0) as settled_clipped_steps,
  coalesce(s.settled_loader_us, 0) as settled_loader_us,
  coalesce(s.settled_compute_us, 0) as settled_compute_us,
  coalesce(s.settled_straggler_us, 0) as settled_straggler_us,
  coalesce(s.settled_checkpoint_us, 0) as settled_checkpoint_us,
  coalesce(s.settled_overhead_us, 0) as settled_overhead_us
from grouped g left join settled s using (job_id, hour_us, attempt), counters
