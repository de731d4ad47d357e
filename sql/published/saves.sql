-- Grain: a job that completed a checkpoint: of how many saves the beginning is on record too, the
-- median time from there to the end (null: of none), and the size of the newest that names one.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.* from events e, seen
  where e.ts_us <= seen.as_of_us and e.event in ('checkpoint_started', 'checkpoint_completed')
),
ended as (
  select job_id, attempt, step, min(ts_us) as ended_us from told
  where event = 'checkpoint_completed' group by job_id, attempt, step
),
begun as (
  select job_id, attempt, step, max(ts_us) as begun_us
  from told join ended using (job_id, attempt, step)
  where event = 'checkpoint_started' and ts_us <= ended_us group by job_id, attempt, step
),
sized as (
  select job_id, arg_max(bytes, ts_us) filter (bytes is not null) as bytes from told
  where event = 'checkpoint_completed' group by job_id
),
timed as (
  select job_id, count(*) as timed, quantile_disc(ended_us - begun_us, 0.5) as write_us
  from begun join ended using (job_id, attempt, step) group by job_id
)
select j.job, coalesce(t.timed, 0) as timed, t.write_us, s.bytes
from sized s left join timed t using (job_id) join jobs j using (job_id)
order by j.job
