-- Grain: a stretch of a work hour in which a job held GPUs or waited for them; since_us is when it
-- began to.
select p.job_id, p.kind, p.cluster, p.tenant, p.gpus, p.nodes, p.start_us as since_us, h.hour_us,
  greatest(p.start_us, h.hour_us) as start_us, least(p.end_us, h.until_us) as end_us
from job_points p
join work_hours h on p.start_us < h.until_us
  and h.hour_us < coalesce(p.end_us, 9223372036854775807)
where p.kind <> 'none'
