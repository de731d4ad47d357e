-- Grain: as waits/open_jobs. A job that was amid its steps was at work at the moment.
with stepped as (
  select job, max(least(last_step_us, getvariable('until_us'))) as last_step_us
  from published.attempts where first_step_us <= getvariable('until_us') group by job
)
select j.job, j.submitted_us, s.last_step_us, j.gpus, q.job is not null as is_first
from jobs j
left join stepped s using (job)
left join (from queue_waits where censored) q using (job)
where j.state in ('pending', 'running')
