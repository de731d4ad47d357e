-- Grain: a step of a rewritten hour, with the end of the step before it in that hour
-- (null for the first); where it is settled (see the schema) with its compute and the gap before it.
with placed as (
  select *, lag(ts_us) over (
      partition by job_id, hour_us order by ts_us, attempt, step
    ) as before_us
  from merged semi join rewritten using (job_id, hour_us)
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
