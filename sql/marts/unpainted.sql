-- Grain: (job, changed hour, restart, label): the time that no step painted. It lies in gaps before
-- steps, and after the last step of a job (all of the wall of one without steps).
with tails as (
  select f.job_id, coalesce(f.last_step_us, f.wall_start_us) as start_us, f.wall_end_us as end_us
  from job_facts f semi join work_jobs using (job_id)
),
tail_hours as (
  select *, unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000
    as hour_us
  from tails where end_us > start_us
),
gaps as (
  select job_id, hour_us, start_us, end_us from painted_pieces
  semi join changed_hours using (job_id, hour_us) where part = 'gap'
  union all
  select job_id, hour_us, greatest(start_us, hour_us), least(end_us, hour_us + 3600000000)
  from tail_hours semi join changed_hours using (job_id, hour_us)
),
labelled as (
  select l.job_id, l.hour_us, l.span, l.category, l.component, l.cause,
    least(g.end_us, l.end_us) - greatest(g.start_us, l.start_us) as us
  from gaps g
  join label_hours l on l.job_id = g.job_id and l.hour_us = g.hour_us
    and l.start_us < g.end_us and g.start_us < l.end_us
  union all
  select l.job_id, l.hour_us, l.span, l.category, l.component, l.cause, g.us
  from painted_gaps g
  join label_hours l on l.job_id = g.job_id and l.hour_us = g.hour_us
    and l.start_us <= g.start_us and g.start_us < l.end_us
)
select job_id, hour_us, span, category, component, cause, sum(us) as us
from labelled group by all
