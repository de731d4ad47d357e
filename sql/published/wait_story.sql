-- Grain: a turn in a job's queue wait, until the next one or its end. part is pending (with its
-- reason, empty before any is given), launch, load, first_step, or requeue after an interruption.
with seen as (select max(as_of_us) as as_of_us from refreshes),
turns as (
  select q.job_id, q.submitted_us + q.wait_us as until_us, e.event, e.ts_us, e.record_key,
    greatest(e.ts_us, q.submitted_us) as at_us, coalesce(e.reason, '') as reason, e.detail,
    case e.event when 'job_submitted' then 'pending' when 'job_pending' then 'pending'
      when 'resources_allocated' then 'launch' when 'process_started' then 'load'
      when 'checkpoint_loaded' then 'first_step' else 'requeue' end as part
  from queue_waits q join events e using (job_id), seen
  where e.ts_us <= seen.as_of_us and (
    e.event in ('job_pending', 'resources_allocated', 'process_started', 'checkpoint_loaded',
      'interruption')
    or (e.event = 'job_submitted' and e.ts_us = q.submitted_us))
),
ended as (
  select *, least(until_us, coalesce(lead(at_us) over (
      partition by job_id
      order by at_us, event = 'job_submitted' desc, ts_us, turn_place(event), record_key
    ), until_us)) as end_us
  from turns where at_us < until_us
)
select j.job, e.at_us as start_us, e.end_us, e.part, e.reason, e.detail
from ended e join jobs j using (job_id)
where e.end_us > e.at_us
order by j.job, e.at_us
