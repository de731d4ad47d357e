-- Grain: an hour of a job whose stored steps must be merged with the incoming ones: because
-- incoming steps end in it, or because it may hold one of the same (job, attempt, step).
with spans as (
  select job_id, attempt, min(min_step) as min_step, max(max_step) as max_step
  from arriving join jobs using (job)
  group by all
)
select distinct job_id, hour_us from step_groups semi join rewritten using (job_id, hour_us)
union
select distinct g.job_id, g.hour_us
from step_groups g
join spans s on s.job_id = g.job_id and s.attempt = g.attempt
  and s.min_step <= g.max_step and g.min_step <= s.max_step
left join folds f on f.job_id = g.job_id
where coalesce(g.hour_us >= f.folded_until_us, true)
