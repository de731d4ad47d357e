-- Grain: a change of state of a node at work, or of its GPUs, that holds to end_us: to the node's next
-- change, or (null) to as_of, for a node that falls silent stays as it was last said to be. A state
-- that is said again changes nothing. Of several said at one moment the one counts that leaves the
-- least to jobs.
with recent as (
  select * from events
  where event = 'node_state' and ts_us <= (select as_of_us from clock)
    and ts_us >= (select min(from_us) from work_nodes)
),
told as (
  select cluster_named(cluster) as cluster, unnest(node_names(node)) as node,
    ts_us as start_us, state, gpus,
    list_position(['idle', 'warm_pool', 'spare_for_restart', 'gang_reserved', 'backfill', 'allocated',
      'power_capped', 'draining', 'maintenance', 'down'], state) as severity
  from recent
),
settled as (
  select t.cluster, t.node, t.start_us, arg_max(t.state, (t.severity, t.gpus)) as state,
    arg_max(t.gpus, (t.severity, t.gpus)) as gpus
  from told t join work_nodes w using (cluster, node)
  where t.start_us >= w.from_us
  group by t.cluster, t.node, t.start_us
),
changes as (
  select * from settled
  qualify (state, gpus) is distinct from
    lag((state, gpus)) over (partition by cluster, node order by start_us)
)
select *, lead(start_us) over (partition by cluster, node order by start_us) as end_us from changes
