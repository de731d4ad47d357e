-- Grain: a restore test's verdict. is_newest: it restored the checkpoint that was the job's newest
-- when it ended, or when it began.
with seen as (select max(as_of_us) as as_of_us from refreshes),
tests as (
  select e.* from events e, seen where e.event = 'restore_test' and e.ts_us <= seen.as_of_us
),
saved as (
  select job_id, ts_us, max(step) as step from events
  where event = 'checkpoint_completed' group by job_id, ts_us
)
select j.job, t.ts_us, t.step, t.result, t.checks, t.duration_us, t.location, t.detail,
  coalesce(t.step = s.step, false) or coalesce(t.step = b.step, false) as is_newest
from tests t
asof left join saved s on s.job_id = t.job_id and s.ts_us <= t.ts_us
asof left join saved b on b.job_id = t.job_id and b.ts_us <= t.ts_us - coalesce(t.duration_us, 0)
join jobs j on j.job_id = t.job_id
order by all
