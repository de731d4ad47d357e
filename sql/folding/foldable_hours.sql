-- Grain: a job that has not ended, with the end of its last hour with steps that is folded: before
-- $horizon_us, and before any hour of which steps arrived since $arrived_before_us. What is folded
-- stays folded where the clock was set back.
with arriving as (
  select g.job_id, min(g.hour_us) as hour_us
  from step_groups g join files f using (file_id)
  where f.ingested_at_us >= $arrived_before_us
  group by g.job_id
)
select g.job_id, greatest(max(g.hour_us) + 3600000000, max(f.folded_until_us)) as folded_until_us
from step_groups g left join arriving a using (job_id) left join folds f using (job_id)
where g.hour_us < $horizon_us and coalesce(g.hour_us < a.hour_us, true)
  and exists (from job_facts j where j.job_id = g.job_id and j.open)
group by g.job_id
