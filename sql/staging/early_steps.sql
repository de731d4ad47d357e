-- Grain: a step of an attempt whose baseline must be measured, up to the moment when the first 102
-- steps of it had ended.
with ended as (
  select g.job_id, g.attempt, list_max(min(s.ts_us, 102)) as last_us
  from steps s join stale_groups g using (group_id)
  group by g.job_id, g.attempt
)
select s.*
from steps s join stale_groups g using (group_id)
join ended e on e.job_id = g.job_id and e.attempt = g.attempt and s.ts_us <= e.last_us
