-- Grain: a change of state of a node at work, or of its GPUs; it holds until the next row of the node,
-- or to as_of: a node that falls silent stays as it was last said to be. A state that is said again
-- changes nothing. Of several said at one moment the one counts that leaves the least to jobs.
with told as (
  select coalesce(e.cluster, 'default') as cluster, unnest(node_names(e.node)) as node,
    e.ts_us as start_us, e.state, e.gpus,
    list_position(['idle', 'warm_pool', 'spare_for_restart', 'gang_reserved', 'backfill', 'allocated',
      'power_capped', 'draining', 'maintenance', 'down'], e.state) as severity
  from events e, clock
  where e.event = 'node_state' and e.ts_us <= clock.as_of_us
),
settled as (
  select cluster, node, start_us, arg_max(state, (severity, gpus)) as state,
    arg_max(gpus, (severity, gpus)) as gpus
  from told semi join work_nodes using (cluster, node)
  group by cluster, node, start_us
)
select * from settled
qualify (state, gpus) is distinct from
  lag((state, gpus)) over (partition by cluster, node order by start_us)
