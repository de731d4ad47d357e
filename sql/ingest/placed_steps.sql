-- Grain: a step of a rewritten hour, with the end of the step before it in that hour
-- (null for the first); where it is settled (see the schema) with its compute and the gap before it.
-- In the order in which steps are stored: sorted once, each hour of a job follows on another.
with ordered as (
  from merged semi join rewritten using (job_id, hour_us)
  order by hour_us, job_id, ts_us, attempt, step
),
placed as (
  select *, case
      when (lag(job_id) over ()) = job_id and (lag(hour_us) over ()) = hour_us
        then lag(ts_us) over ()
    end as before_us
  from ordered
),
begun as (
  select *, begins_us(ts_us - duration_us, before_us) as begin_us from placed
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
