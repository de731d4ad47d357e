-- Grain: a placed step; where it is settled (see the schema) with its compute and the gap before it.
with begun as (
  select * exclude (ascends), hour_of(ts_us) as hour_us,
    begins_us(ts_us - duration_us, before_us) as begin_us
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
