-- Grain: a node whose states the refresh derives anew, and from when on: from the last change before
-- the earliest of its new records, those between the last as_of and this one included.
with last as (
  select coalesce(max(as_of_us), -1) as as_of_us, coalesce(max(next_event_id), 0) as next_event_id
  from refreshes
),
fresh as (
  select cluster, node, min(ts_us) as ts_us from (
    select cluster_named(e.cluster) as cluster, unnest(node_names(e.node)) as node, e.ts_us
    from events e, last, clock
    where e.event = 'node_state' and (
      e.event_id >= last.next_event_id or e.ts_us > least(last.as_of_us, clock.as_of_us)
    )
  ) group by all
)
select f.cluster, f.node, coalesce(p.start_us, f.ts_us) as from_us
from fresh f
asof left join node_points p
  on p.cluster = f.cluster and p.node = f.node and p.start_us < f.ts_us
