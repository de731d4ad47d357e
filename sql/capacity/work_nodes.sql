-- Grain: a node whose states the refresh derives anew: one with new records, or with records between
-- the last as_of and this one. All of them where as_of went back.
with last as (
  select coalesce(max(as_of_us), -1) as as_of_us, coalesce(max(next_event_id), 0) as next_event_id
  from refreshes
)
select distinct coalesce(e.cluster, 'default') as cluster, unnest(node_names(e.node)) as node
from events e, last, clock
where e.event = 'node_state' and (
  e.event_id >= last.next_event_id or e.ts_us > last.as_of_us or last.as_of_us > clock.as_of_us
)
