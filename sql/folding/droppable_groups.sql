-- Grain: a step group whose steps are not needed any more: of a closed job, or in a folded hour. The
-- labels of a job that goes on are read from steps beside its boundaries, and the baseline of an
-- attempt from its first ones; those stay as long as the job does.
select g.group_id
from step_groups g join folds f using (job_id)
where f.is_closed
  or (g.hour_us < f.folded_until_us
    and g.group_id not in (select group_id from probe_groups)
    and g.group_id not in (select group_id from baseline_groups))
