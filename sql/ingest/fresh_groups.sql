-- Grain: a new step group; see the schema.
select
  (next_group_id + row_number() over (order by hour_us, job_id, attempt) - 1)::integer as group_id,
  g.*
from (
  select job_id, hour_us, attempt, count(*) as steps, min(ts_us) as first_ts_us,
    max(ts_us) as last_ts_us, min(step) as min_step, max(step) as max_step,
    max(case when before_us is null then ts_us - duration_us end) as head_begin_us
  from placed
  group by all
) g, counters
