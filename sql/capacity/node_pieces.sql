-- Grain: a stretch of a work hour in which a node was in one state with so many GPUs.
select p.cluster, p.node, h.hour_us, greatest(p.start_us, h.hour_us) as start_us,
  least(p.end_us, h.until_us) as end_us, p.state, p.gpus
from node_points p
join work_hours h on p.start_us < h.until_us
  and h.hour_us < coalesce(p.end_us, 9223372036854775807)
