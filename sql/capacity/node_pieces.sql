-- Grain: a stretch of a work hour in which a node was in one state with so many GPUs.
with bounded as (
  select *, coalesce(lead(start_us) over (partition by cluster, node order by start_us), as_of_us)
    as end_us
  from node_points, clock
)
select p.cluster, p.node, h.hour_us, greatest(p.start_us, h.hour_us) as start_us,
  least(p.end_us, h.until_us) as end_us, p.state, p.gpus
from bounded p
join work_hours h on p.start_us < h.until_us and h.hour_us < p.end_us
