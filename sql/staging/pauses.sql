-- Grain: a pause or phase with its end. One without a recorded end lasts until the earliest painted
-- beginning at or after its own start, or the next boundary.
with resumed as (
  select i.job_id, i.layer, i.start_us, min(s.start_us) as end_us
  from intervals i
  join probe_steps s on s.job_id = i.job_id and s.start_us >= i.start_us
  where i.end_us is null
  group by all
)
select i.job_id, i.layer, i.start_us,
  least(i.end_us, r.end_us, i.next_boundary_us, w.wall_end_us) as end_us
from intervals i
join walls w using (job_id)
left join resumed r on i.end_us is null and r.job_id = i.job_id and r.layer = i.layer
  and r.start_us = i.start_us
