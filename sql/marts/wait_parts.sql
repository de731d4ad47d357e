-- Grain: (job, part, reason): how a queue wait is made up. part is pending (with the reason given,
-- empty before any is), launch, load, first_step, or requeue after an interruption.
with moments as (
  select q.job_id, q.submitted_us, q.submitted_us + q.wait_us as until_us,
    greatest(e.ts_us, q.submitted_us) as at_us, e.event, e.ts_us, e.record_key, case e.event
      when 'job_submitted' then 'pending' when 'job_pending' then 'pending'
      when 'resources_allocated' then 'launch' when 'process_started' then 'load'
      when 'checkpoint_loaded' then 'first_step' else 'requeue' end as part,
    coalesce(e.reason, '') as reason
  from fresh_waits q join seen_events e using (job_id)
  where e.event in ('job_pending', 'resources_allocated', 'process_started', 'checkpoint_loaded',
      'interruption')
    or (e.event = 'job_submitted' and e.ts_us = q.submitted_us)
),
spent as (
  select job_id, part, reason, until_us, at_us, lead(at_us) over (
      partition by job_id
      order by at_us, event = 'job_submitted' desc, ts_us, turn_place(event), record_key
    ) as next_us
  from moments where at_us < until_us
)
select job_id, part, reason, sum(least(coalesce(next_us, until_us), until_us) - at_us)::bigint as us
from spent group by all having us > 0
