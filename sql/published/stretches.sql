-- Grain: a stretch of a job's wall-clock without steps that is known by name: a phase of a start or
-- restart, a maintenance window, a checkpoint pause, a phase of the job's own. span numbers the
-- restart. Between them the job makes steps, or time that no record explains passes.
with bounded as (
  select *, lead(start_us) over (partition by job_id order by start_us) as end_us from labels
)
select j.job, b.start_us, b.end_us, b.category, b.component, b.cause, b.span
from bounded b join jobs j using (job_id)
where b.category is not null and b.component not in ('gap', 'tail') and b.end_us > b.start_us
order by j.job, b.start_us
