-- Grain: a job that has not ended, with the end of its last hour with steps before $horizon_us (or
-- before an earlier horizon: what is folded stays folded where the clock was set back).
select g.job_id, greatest(max(g.hour_us) + 3600000000, max(f.folded_until_us)) as folded_until_us
from step_groups g left join folds f using (job_id)
where g.hour_us < $horizon_us
  and exists (from job_facts j where j.job_id = g.job_id and j.open)
group by g.job_id
