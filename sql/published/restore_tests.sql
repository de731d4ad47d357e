-- Grain: a restore test's verdict. is_newest: it restored the job's newest checkpoint at that time.
with seen as (select max(as_of_us) as as_of_us from refreshes),
tests as (
  select e.* from events e, seen where e.event = 'restore_test' and e.ts_us <= seen.as_of_us
),
saved as (
  select job_id, ts_us, max(step) as step from events
  where event = 'checkpoint_completed' group by job_id, ts_us
)
select j.job, t.ts_us, t.step, t.result, t.checks, t.duration_us, t.location, t.detail,
  coalesce(t.step = s.step, false) as is_newest
from tests t
asof left join saved s on s.job_id = t.job_id and s.ts_us <= t.ts_us
join jobs j on j.job_id = t.job_id
order by all
