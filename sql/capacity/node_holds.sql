-- Grain: a stretch of a work hour in which a job held GPUs of a node. Its GPUs are spread evenly over
-- its nodes, the first by name taking one more where that leaves a rest; gpus is null where no record
-- says how many it has: then it holds whole nodes.
with placed as (
  select p.*, unnest(p.nodes) as node, unnest(range(len(p.nodes))) as place, len(p.nodes) as spread
  from job_pieces p where p.kind = 'held' and p.nodes is not null
)
select job_id, cluster, node, hour_us, start_us, end_us, since_us,
  gpus // spread + (place < gpus % spread)::integer as gpus
from placed
