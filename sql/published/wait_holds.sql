-- Grain: a stretch of a job's queue wait that its owner asked for: held, or behind a dependency.
with seen as (select max(as_of_us) as as_of_us from refreshes),
moments as (
  select q.job_id, q.submitted_us + q.wait_us as until_us, greatest(e.ts_us, q.submitted_us) as at_us,
    e.ts_us, e.record_key, turn_place(e.event) as place,
    e.event = 'job_pending' and e.reason in ('user_hold', 'dependency') as is_held
  from queue_waits q join events e using (job_id), seen
  where e.ts_us <= seen.as_of_us and e.event in ('job_pending', 'resources_allocated',
      'process_started', 'checkpoint_loaded', 'interruption')
),
stretches as (
  select job_id, is_held, at_us as start_us, least(until_us, coalesce(lead(at_us) over (
      partition by job_id order by at_us, ts_us, place, record_key), until_us)) as end_us
  from moments where at_us < until_us
)
select j.job, s.start_us, s.end_us
from stretches s join jobs j using (job_id)
where s.is_held and s.end_us > s.start_us
order by all
