-- Grain: a stretch inside a job's life that is no wall-clock: it was suspended. One that was never
-- resumed lasts to the end of the life.
with bounded as (
  select *, lead(start_us) over (partition by job_id order by start_us) as end_us from labels
)
select j.job, b.start_us, least(b.end_us, f.wall_end_us) as end_us
from bounded b
join job_facts f using (job_id)
join jobs j using (job_id)
where b.category is null and b.start_us < f.wall_end_us
order by j.job, b.start_us
