-- Grain: a stretch of a step group to derive, with the group's context: the first step of an hour by
-- itself (is_opener), and for the others the stretches between changes of label. A step lies in that
-- which holds the end of the step before it; the first step of an hour has none, which counts as 0.
with edges as (
  select *, unnest([0, 1] || coalesce(cuts, [])) as from_us from dirty_contexts
)
select row_number() over (order by group_id, from_us)::integer as stretch_id,
  from_us = 0 as is_opener, * exclude (cuts),
  lead(from_us, 1, hour_us + 3600000001) over (partition by group_id order by from_us) as until_us
from edges
