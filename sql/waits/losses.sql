-- Grain: a restart, with what it had done again and what that may be judged by: the interval in force;
-- the newest checkpoint when it was interrupted (saved_us, saved_step), and the one that it went on
-- from (resumed_step).
with seen as (select max(as_of_us) as as_of_us from refreshes),
again as (
  select job, detected_us, sum(us)::bigint as lost_us from mart.restart_losses
  where component = 'rework' and cause <> 'rollback' group by job, detected_us
),
told as (
  select e.job_id, e.event, e.ts_us, e.step from events e, seen
  where e.event in ('checkpoint_completed', 'checkpoint_loaded') and e.ts_us <= seen.as_of_us
),
completed as (
  select job_id, ts_us, max(step) as step from told where event = 'checkpoint_completed'
  group by job_id, ts_us
),
loaded as (
  select job_id, ts_us, max(step) as step from told where event = 'checkpoint_loaded'
  group by job_id, ts_us
)
select j.job, r.job_id, r.detected_us, r.recovered_us, r.cause, f.instrumented,
  f.checkpoint_interval_us as interval_us, coalesce(a.lost_us, 0) as lost_us, r.lost_steps,
  s.ts_us as saved_us, s.step as saved_step, l.step as resumed_step
from restarts r
join jobs j using (job_id)
join job_facts f using (job_id)
left join again a on a.job = j.job and a.detected_us = r.detected_us
asof left join completed s on s.job_id = r.job_id and s.ts_us <= r.detected_us
asof left join loaded l on l.job_id = r.job_id and l.ts_us <= coalesce(r.recovered_us, 0)
