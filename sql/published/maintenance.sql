-- Grain: a maintenance window as it was last announced, or else as it began: ends_us is null where
-- no end is on record. is_planned: it was announced, first at announced_us; began_us is null where it
-- has not begun.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.* from events e, seen
  where e.event in ('maintenance_planned', 'maintenance_started', 'maintenance_ended')
    and e.ts_us <= seen.as_of_us
)
select id, cluster_named(cluster) as cluster,
  coalesce(arg_max(starts_us, ts_us) filter (event = 'maintenance_planned'),
    min(ts_us) filter (event = 'maintenance_started')) as starts_us,
  coalesce(max(ts_us) filter (event = 'maintenance_ended'),
    arg_max(ends_us, ts_us) filter (event = 'maintenance_planned')) as ends_us,
  min(ts_us) filter (event = 'maintenance_planned') as announced_us,
  min(ts_us) filter (event = 'maintenance_started') as began_us,
  max(ts_us) filter (event = 'maintenance_ended') as ended_us,
  bool_or(event = 'maintenance_planned') as is_planned,
  arg_max(jobs, ts_us) as jobs, arg_max(nodes, ts_us) as nodes, arg_max(detail, ts_us) as detail
from told
group by id, cluster_named(cluster)
order by starts_us, id
