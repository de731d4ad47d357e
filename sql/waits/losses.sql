-- Grain: a restart, with what it had done again and what that may be judged by. interval_us is in
-- force; optimal_us is sqrt(2 C M) with C the job's median blocking save and M its wall-clock between
-- interruptions (Young, "A first order approximation to the optimum checkpoint interval", CACM 17
-- (1974)); saved_us, saved_step: the newest checkpoint when it was interrupted; resumed_step: the one
-- that it went on from.
with seen as (select max(as_of_us) as as_of_us from refreshes),
again as (
  select job, detected_us, sum(us)::bigint as lost_us from mart.restart_losses
  where component = 'rework' and cause <> 'rollback' group by job, detected_us
),
told as (
  select e.job_id, e.attempt, e.event, e.ts_us, e.step, e.blocking from events e, seen
  where e.event in ('checkpoint_started', 'checkpoint_completed', 'checkpoint_loaded')
    and e.ts_us <= seen.as_of_us
),
saves as (
  select s.job_id, min(e.ts_us) - s.ts_us as save_us
  from told s
  join told e on e.event = 'checkpoint_completed' and e.job_id = s.job_id
    and e.attempt = s.attempt and e.step = s.step and e.ts_us >= s.ts_us
  where s.event = 'checkpoint_started' and coalesce(s.blocking, true)
  group by s.job_id, s.attempt, s.step, s.ts_us
),
costs as (select job_id, quantile_disc(save_us, 0.5) as save_us from saves group by job_id),
rates as (
  select r.job_id, any_value(g.wall_us) // sum(r.interruptions)::bigint as between_us
  from restarts r join goodput g using (job_id) group by r.job_id
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
  sqrt(2.0 * nullif(c.save_us, 0) * m.between_us)::bigint as optimal_us,
  s.ts_us as saved_us, s.step as saved_step, l.step as resumed_step
from restarts r
join jobs j using (job_id)
join job_facts f using (job_id)
left join again a on a.job = j.job and a.detected_us = r.detected_us
left join costs c on c.job_id = r.job_id
left join rates m on m.job_id = r.job_id
asof left join completed s on s.job_id = r.job_id and s.ts_us <= r.detected_us
asof left join loaded l on l.job_id = r.job_id and l.ts_us <= coalesce(r.recovered_us, 0)
