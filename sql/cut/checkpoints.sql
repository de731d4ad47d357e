-- Grain: a job that had saved, or of which a checkpoint was tested. When a save failed is not
-- published: how many had is known only where none did.
with saved as (
  select job, count(*) as completed, max(ts_us) as newest_us, arg_max(step, ts_us) as newest_step
  from saved_checkpoints group by job
),
tested as (
  select job, count(*) filter (result = 'pass') as passed,
    count(*) filter (result <> 'pass') as refused,
    max(ts_us) filter (result = 'pass') as proven_us,
    arg_max(step, ts_us) filter (result = 'pass') as proven_step
  from restore_tests group by job
)
select job, coalesce(s.completed, 0) as completed, case when p.failed = 0 then p.failed end as failed,
  s.newest_us, s.newest_step, coalesce(t.passed, 0) as passed, coalesce(t.refused, 0) as refused,
  t.proven_us, t.proven_step
from saved s full join tested t using (job) join published.checkpoints p using (job)
