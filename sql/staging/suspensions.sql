-- Grain: a suspension of a job at work. A second one inside one, or a resumption without one,
-- changes nothing; one never resumed (is_open) lasts to the end of the wall.
with changes as (
  select job_id, ts_us, event = 'job_suspended' as suspends,
    lag(event = 'job_suspended', 1, false) over switches as was_suspended
  from seen_events
  where event in ('job_suspended', 'job_resumed')
  window switches as (partition by job_id order by ts_us, event = 'job_resumed')
),
spans as (
  select job_id, suspends, ts_us as start_us,
    lead(ts_us) over (partition by job_id order by ts_us, not suspends) as resumed_us
  from changes
  where suspends <> was_suspended
)
select s.job_id, s.start_us, coalesce(s.resumed_us, x.until_us) as end_us,
  s.resumed_us is null as is_open
from spans s join extents x using (job_id)
where s.suspends and (s.resumed_us is not null or s.start_us <= x.until_us)
