-- Grain: an attempt of a job, with what is known of it: when it was allocated, when its first step
-- completed and its last one ended, when it was interrupted, and which nodes it held.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.job_id, e.attempt,
    min(e.ts_us) filter (e.event = 'resources_allocated') as allocated_us,
    min(e.ts_us) filter (e.event = 'interruption') as interrupted_us,
    arg_max(e.nodes, (e.ts_us, e.record_key)) filter (e.event = 'resources_allocated') as nodes
  from events e, seen
  where e.attempt is not null and e.ts_us <= seen.as_of_us
    and e.event in ('resources_allocated', 'interruption')
  group by e.job_id, e.attempt
)
select j.job, attempt, t.allocated_us, f.first_ts_us as first_step_us, f.last_ts_us as last_step_us,
  t.interrupted_us, f.steps, f.min_step, f.max_step, t.nodes
from told t
full join attempt_facts f using (job_id, attempt)
join jobs j using (job_id)
order by j.job, attempt
