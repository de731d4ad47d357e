-- Grain: (job, changed hour, category, component, cause), rows of more than 0 µs. For every job and
-- hour they sum to the wall inside that hour.
with sums as (
  select s.* from painted_sums s semi join changed_hours using (job_id, hour_us)
),
parts as (
  select job_id, hour_us, 'useful' as category, 'step' as component, '' as cause, useful_us as us
  from sums
  union all select job_id, hour_us, 'unattributed', 'slow_step', '', slow_us from sums
  union all select job_id, hour_us, rework_category, 'rework', rework_cause, rework_us from sums
    where rework_us > 0
  union all select job_id, hour_us, 'loader', 'step', '', loader_us from sums
  union all select job_id, hour_us, 'straggler', 'step', '', straggler_us from sums
  union all select job_id, hour_us, 'checkpoint', 'step', '', checkpoint_us from sums
  union all select job_id, hour_us, 'job', 'overhead', '', overhead_us from sums
  union all select job_id, hour_us, category, component, cause, end_us - start_us
    from painted_pieces semi join changed_hours using (job_id, hour_us) where part = 'step'
  union all select job_id, hour_us, category, component, cause, us
    from unpainted semi join changed_hours using (job_id, hour_us)
)
select job_id, hour_us, category, component, cause, sum(us)::bigint as us
from parts group by all having sum(us) > 0
