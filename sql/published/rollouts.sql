-- Grain: a change that the gate let through, as it was recorded; ended_us is null while it goes on.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.* from events e, seen
  where e.event in ('change_started', 'change_ended') and e.ts_us <= seen.as_of_us
)
select id, any_value(change) as change, any_value(scope) as scope, any_value(detail) as detail,
  arg_max(nodes, ts_us) as nodes,
  min(ts_us) filter (event = 'change_started') as started_us,
  max(ts_us) filter (event = 'change_ended') as ended_us
from told
group by id
order by started_us, id
