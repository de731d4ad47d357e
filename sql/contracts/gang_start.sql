-- A gang starts with all its GPUs or not at all: each allocation of a job that asked for more than
-- one. What it holds is what the allocation says, else the GPUs of the nodes that it names.
with seen as (select max(as_of_us) as as_of_us from refreshes),
asked as (
  select e.job_id, e.ts_us, max(e.gpus) as gpus from events e, seen
  where e.event = 'job_submitted' and e.gpus is not null and e.ts_us <= seen.as_of_us
  group by e.job_id, e.ts_us
),
sizes as (select node, max(gpus) as gpus from events where event = 'node_state' group by node),
named as (
  select e.record_key, unnest(e.nodes) as node from events e, seen
  where e.event = 'resources_allocated' and e.gpus is null and e.ts_us <= seen.as_of_us
),
counted as (
  select n.record_key, case when count(*) = count(s.gpus) then sum(s.gpus)::bigint end as gpus
  from named n left join sizes s using (node) group by n.record_key
),
held as (
  select e.job_id, e.attempt, e.ts_us, coalesce(e.gpus, c.gpus) as gpus
  from events e left join counted c using (record_key), seen
  where e.event = 'resources_allocated' and e.ts_us <= seen.as_of_us
)
select j.job, h.ts_us as at_us, h.gpus >= a.gpus as kept,
  case
    when a.gpus is null then 'no submission says how many GPUs it needs'
    when h.gpus is null then 'no record says how many GPUs the allocation holds'
    else 'attempt ' || h.attempt || ' got ' || h.gpus || ' of ' || a.gpus || ' GPUs'
  end as detail
from held h
join jobs j using (job_id)
asof left join asked a on a.job_id = h.job_id and a.ts_us <= h.ts_us
where coalesce(a.gpus > 1, true)
