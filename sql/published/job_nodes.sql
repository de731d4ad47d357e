-- Grain: (job, node) of the job's latest allocation that names its nodes.
with seen as (select max(as_of_us) as as_of_us from refreshes),
latest as (
  select e.job_id, arg_max(e.nodes, (e.ts_us, e.record_key)) as nodes
  from events e, seen
  where e.event = 'resources_allocated' and e.nodes is not null and e.ts_us <= seen.as_of_us
  group by e.job_id
)
select distinct j.job, unnest(l.nodes) as node from latest l join jobs j using (job_id) order by all
