-- Grain: a pause or a phase of an instrumented job as far as records alone tell. end_us is null
-- where its end was never recorded; next_boundary_us ends it where that comes earlier.
with started as (
  select job_id, attempt, ts_us, record_key, 'pause' as layer, step::varchar as what
  from seen_events where event = 'checkpoint_started' and coalesce(blocking, true)
  union all
  select job_id, attempt, ts_us, record_key, 'phase', name from seen_events
  where event = 'phase_started'
),
ended as (
  select job_id, attempt, ts_us, 'pause' as layer, step::varchar as what
  from seen_events where event in ('checkpoint_completed', 'checkpoint_failed')
  union all
  select job_id, attempt, ts_us, 'phase', name from seen_events where event = 'phase_ended'
),
paired as (
  select s.*, min(e.ts_us) as end_us
  from started s
  left join ended e on e.job_id = s.job_id and e.attempt = s.attempt and e.layer = s.layer
    and e.what = s.what and e.ts_us >= s.ts_us
  group by all
)
select p.job_id, p.layer, p.ts_us as start_us, p.end_us, b.at_us as next_boundary_us
from paired p
semi join attempts a using (job_id)
asof left join boundaries b on b.job_id = p.job_id and p.ts_us < b.at_us
