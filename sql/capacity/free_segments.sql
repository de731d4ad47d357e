-- Grain: a stretch of a node with the GPUs that no job held, and its state.
with held as (
  select cluster, node, start_us, sum(gpus)::bigint as gpus from held_segments group by all
)
select s.cluster, s.hour_us, s.start_us, s.end_us, s.state, s.gpus - coalesce(h.gpus, 0) as gpus
from node_segments s left join held h using (cluster, node, start_us)
where s.gpus > coalesce(h.gpus, 0)
