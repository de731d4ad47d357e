-- Grain: a stretch of a work hour in which a job held GPUs of a node, where a state or a holder tells
-- how many it has (of the others nothing is installed; nodes without GPUs are shared by hundreds of
-- jobs). Its GPUs are spread evenly over its nodes, the first by name taking one more where that leaves
-- a rest; gpus is null where no record says how many it has: then it holds whole nodes.
with placed as (
  select p.*, unnest(p.nodes) as node, unnest(range(len(p.nodes))) as place, len(p.nodes) as spread
  from job_pieces p where p.kind = 'held' and p.nodes is not null
),
holds as (
  select job_id, cluster, node, hour_us, start_us, end_us, since_us,
    gpus // spread + (place < gpus % spread)::integer as gpus
  from placed
),
sized as (
  select cluster, node, hour_us from holds where gpus > 0
  union
  select cluster, node, hour_us from node_pieces
)
from holds semi join sized using (cluster, node, hour_us)
