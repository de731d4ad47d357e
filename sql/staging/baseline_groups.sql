-- Grain: a step group that holds one of the first 102 steps of its attempt, with its placement.
with counted as (
  select group_id, sum(steps) over (
      partition by job_id, attempt order by hour_us rows between unbounded preceding and 1 preceding
    ) as steps_before
  from seen_groups
)
from placements semi join (from counted where coalesce(steps_before, 0) < 102) using (group_id)
