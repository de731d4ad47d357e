-- Grain: a step group, as the schema describes it.
select p.* exclude (apart), c.job_id, c.hour_us, c.attempt, c.rework_category, c.rework_cause
from painted_groups p join dirty_contexts c using (group_id)
