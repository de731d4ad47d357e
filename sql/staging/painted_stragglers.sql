-- Grain: (step group to derive, node, hour): what its picked steps waited for the node, as painted,
-- less what is counted of them as settled ones.
with painted as (
  select group_id, job_id, straggler_node as node,
    start_us + loader_us + compute_us as start_us,
    start_us + loader_us + compute_us + straggler_us as end_us
  from painted_steps('picked_stragglers', 'stretches') join
    (select group_id, step, straggler_node from picked_stragglers) using (group_id, step)
  where straggler_us > 0
),
hourly as (
  select *, unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000
    as hour_us
  from painted
),
parts as (
  select group_id, job_id, hour_us, node,
    least(end_us, hour_us + 3600000000) - greatest(start_us, hour_us) as us
  from hourly
  union all
  select p.group_id, c.job_id, c.hour_us, p.straggler_node, -p.straggler_us
  from picked_stragglers p join dirty_contexts c using (group_id) where p.compute_us is not null
)
select group_id, job_id, hour_us, node, sum(us) as us
from parts group by all having sum(us) <> 0
