-- Grain: a step of $standing, with the end of the step before it in its hour (null for the first). It
-- ascends where the step before it is of an earlier attempt, or has a lower number. In the order in
-- which steps are stored: sorted once, each hour of a job follows on another. One thread alone can look
-- back at the row before, so that all else is left to settled_steps.
-- Parameters: $file_id, and the name of the relation that holds what stands in the rewritten hours.
with ordered as (
  select * replace (coalesce(file_id, $file_id)::integer as file_id)
  from query_table($standing)
  order by hour_of(ts_us), job_id, ts_us, attempt, step
),
placed as (
  select *, (lag(job_id) over ()) = job_id and hour_of(lag(ts_us) over ()) = hour_of(ts_us)
      as follows,
    lag(ts_us) over () as last_us, lag(attempt) over () as last_attempt,
    lag(step) over () as last_step
  from ordered
)
select * exclude (follows, last_us, last_attempt, last_step),
  case when follows then last_us end as before_us,
  not coalesce(follows, false) or last_attempt < attempt
    or (last_attempt = attempt and last_step < step) as ascends
from placed
