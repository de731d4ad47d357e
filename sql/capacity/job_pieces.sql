-- Grain: a stretch of a work hour in which a job held GPUs or waited for them; since_us is when it
-- began to.
with bounded as (
  select *, coalesce(lead(start_us) over (partition by job_id order by start_us), as_of_us) as end_us
  from job_points, clock
)
select p.job_id, p.kind, p.cluster, p.tenant, p.gpus, p.nodes, p.start_us as since_us, h.hour_us,
  greatest(p.start_us, h.hour_us) as start_us, least(p.end_us, h.until_us) as end_us
from bounded p
join work_hours h on p.start_us < h.until_us and h.hour_us < p.end_us
where p.kind <> 'none'
