-- Grain: (stretch of a node, job that held GPUs of it). Of more GPUs than the node has, jobs that held
-- theirs earlier have them (of two at one moment the first by name); the rest is nobody's.
with ranked as (
  select *, unnest(holders, recursive := true), unnest(range(len(holders))) as place
  from (select * rename (gpus as node_gpus) from node_segments where holders is not null)
),
wanted as (
  select *, coalesce(sum(coalesce(gpus, node_gpus)) over (
      partition by cluster, node, start_us order by place
      rows between unbounded preceding and 1 preceding
    ), 0) as before
  from ranked
)
select cluster, node, hour_us, start_us, end_us, job_id,
  greatest(least(coalesce(gpus, node_gpus), node_gpus - before), 0)::bigint as gpus
from wanted
