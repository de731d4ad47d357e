-- Grain: a step of $standing, with the end of the step before it in that hour
-- (null for the first); where it is settled (see the schema) with its compute and the gap before it.
-- It ascends where the step before it is of an earlier attempt, or has a lower number. In the order
-- in which steps are stored: sorted once, each hour of a job follows on another.
-- Parameters: $file_id, and the name of the relation that holds what stands in the rewritten hours.
with ordered as (
  select * replace (coalesce(file_id, $file_id)::integer as file_id)
  from query_table($standing)
  order by hour_us, job_id, ts_us, attempt, step
),
placed as (
  select *, (lag(job_id) over ()) = job_id and (lag(hour_us) over ()) = hour_us as follows,
    lag(ts_us) over () as last_us, lag(attempt) over () as last_attempt,
    lag(step) over () as last_step
  from ordered
),
begun as (
  select * exclude (follows, last_us, last_attempt, last_step),
    case when follows then last_us end as before_us,
    begins_us(ts_us - duration_us, before_us) as begin_us,
    not coalesce(follows, false) or last_attempt < attempt
      or (last_attempt = attempt and last_step < step) as ascends
  from placed
),
spent as (
  select *, before_us is not null and ts_us - begin_us
      >= data_wait_us + straggler_us + checkpoint_us + overhead_us as is_settled
  from begun
)
select * exclude (begin_us, is_settled),
  case when is_settled then
    ts_us - begin_us - data_wait_us - straggler_us - checkpoint_us - overhead_us end as compute_us,
  case when is_settled then begin_us - before_us end as gap_us
from spent
