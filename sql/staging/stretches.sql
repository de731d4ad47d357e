-- Grain: a stretch of a step group to derive, with the group's context: the first step of an hour by
-- itself (is_opener), and for the others the stretches between changes of label. A step lies in that
-- which holds the end of the step before it; the first step of an hour has none, which counts as 0.
with bounded as (
  select * exclude (cuts), [0, 1] || coalesce(cuts, []) || [hour_us + 3600000001] as bounds
  from dirty_contexts
),
placed as (select *, unnest(range(1, len(bounds))) as place from bounded)
select row_number() over ()::integer as stretch_id, place = 1 as is_opener,
  * exclude (bounds, place), bounds[place] as from_us, bounds[place + 1] as until_us
from placed
