-- Grain: (stretch of a node, job that held GPUs of it), where the node's state lets a job hold any. Of
-- more GPUs than the node has, the job that got its own last has them (of two at one moment the first
-- by name): that a node is given away says that whoever had it before has not. The rest is nobody's.
with ranked as (
  select *, unnest(holders, recursive := true), unnest(range(len(holders))) as place
  from (
    select * rename (gpus as node_gpus) from node_segments
    where holders is not null and state in ('allocated', 'backfill', 'draining', 'unknown')
  )
),
wanted as (
  select *, coalesce(sum(coalesce(gpus, node_gpus)) over (
      partition by cluster, node, start_us order by place
      rows between unbounded preceding and 1 preceding
    ), 0) as before
  from ranked
)
select cluster, node, hour_us, start_us, end_us, state, job_id,
  greatest(least(coalesce(gpus, node_gpus), node_gpus - before), 0)::bigint as gpus
from wanted
