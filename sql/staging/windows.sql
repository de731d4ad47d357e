-- Grain: a stretch of a maintenance window that affects a job at work: the jobs that it names,
-- those whose latest allocation holds a node that it names, or with neither every job of its
-- cluster. Without a recorded end it ends at as_of, and 24 hours after its start at the latest.
with ended as (
  select s.record_key, min(e.ts_us) as end_us
  from events s
  join events e on e.event = 'maintenance_ended' and e.id = s.id and e.ts_us >= s.ts_us
    and coalesce(e.cluster, '') = coalesce(s.cluster, '')
  cross join clock
  where s.event = 'maintenance_started' and e.ts_us <= clock.as_of_us
  group by s.record_key
),
maintenance as (
  select s.ts_us as start_us, s.jobs, s.nodes, coalesce(s.cluster, '') as cluster,
    coalesce(e.end_us, least(clock.as_of_us, s.ts_us + 86400000000)) as end_us
  from events s left join ended e using (record_key) cross join clock
  where s.event = 'maintenance_started' and s.ts_us <= clock.as_of_us
),
held as (
  select job_id, ts_us as from_us, nodes,
    lead(ts_us) over (partition by job_id order by ts_us, attempt) as until_us
  from seen_events where event = 'resources_allocated'
)
select j.job_id, m.start_us, m.end_us
from (select *, unnest(jobs) as job from maintenance) m
join jobs j using (job) semi join walls w on w.job_id = j.job_id
union
select h.job_id, greatest(m.start_us, h.from_us),
  least(m.end_us, coalesce(h.until_us, m.end_us))
from maintenance m
join held h on list_has_any(h.nodes, m.nodes) and h.from_us < m.end_us
  and coalesce(h.until_us > m.start_us, true)
join walls w on w.job_id = h.job_id and coalesce(w.cluster, '') = m.cluster
union
select w.job_id, m.start_us, m.end_us
from maintenance m join walls w on coalesce(w.cluster, '') = m.cluster
where coalesce(len(m.jobs), 0) = 0 and coalesce(len(m.nodes), 0) = 0
