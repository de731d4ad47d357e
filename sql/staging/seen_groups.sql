-- Grain: a step group of a job at work as far as it is not later than as_of.
-- seen_until_us is as_of where that cuts the group, else null.
with cut as (
  select g.group_id, clock.as_of_us from step_groups g semi join work_jobs using (job_id), clock
  where g.first_ts_us <= clock.as_of_us and g.last_ts_us > clock.as_of_us
)
select g.*, null::bigint as seen_until_us
from step_groups g semi join work_jobs using (job_id), clock
where g.last_ts_us <= clock.as_of_us
union all by name
select g.group_id, g.job_id, g.hour_us, g.attempt, count(*) as steps, g.first_ts_us,
  max(s.ts_us) as last_ts_us, min(s.step) as min_step, max(s.step) as max_step, g.head_begin_us,
  cut.as_of_us as seen_until_us
from cut join step_groups g using (group_id) join steps s using (group_id)
where s.ts_us <= cut.as_of_us
group by all
