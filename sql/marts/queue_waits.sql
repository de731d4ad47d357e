-- Grain: a job at work that was submitted: how long until its first step completed (of a job without
-- steps: its first process_started, or else allocation; basis says which). A job that has not got
-- there is censored at as_of or its end.
with started as (
  select w.job_id,
    coalesce(min(a.first_ts_us),
      min(e.ts_us) filter (e.event = 'process_started'),
      min(e.ts_us) filter (e.event = 'resources_allocated')) as started_us,
    case when count(a.attempt) > 0 then 'first_step'
      when count(*) filter (e.event = 'process_started') > 0 then 'process_started'
      when count(*) filter (e.event = 'resources_allocated') > 0 then 'resources_allocated'
      end as basis
  from walls w
  left join attempts a on a.job_id = w.job_id
  left join seen_events e on e.job_id = w.job_id and a.job_id is null
    and e.event in ('process_started', 'resources_allocated')
  group by w.job_id
)
select w.job_id, w.tier, w.submitted_us, s.started_us, s.basis, s.started_us is null as censored,
  coalesce(s.started_us, w.until_us) - w.submitted_us as wait_us
from walls w join started s using (job_id)
where w.submitted_us is not null
