-- Grain: (cluster, work hour, job whose allocation names no nodes): the GPU-µs that it is taken to hold
-- of what is allocated there without a record: all that it needs, jobs that held theirs earlier first,
-- as long as there is any.
with spare as (
  select cluster, hour_us, sum((end_us - start_us)::hugeint * gpus) as gpu_us
  from free_segments where state = 'allocated' group by all
),
wanted as (
  select p.cluster, p.hour_us, p.job_id, min(p.since_us) as since_us,
    sum((p.end_us - p.start_us)::hugeint * coalesce(p.gpus, 1)) as gpu_us
  from job_pieces p where p.kind = 'held' and p.nodes is null group by all
),
queued as (
  select w.*, s.gpu_us as spare_us, coalesce(sum(w.gpu_us) over (
      partition by w.cluster, w.hour_us order by w.since_us, j.job
      rows between unbounded preceding and 1 preceding
    ), 0) as before_us
  from wanted w join spare s using (cluster, hour_us) join jobs j using (job_id)
)
select cluster, hour_us, job_id,
  least(gpu_us, spare_us - before_us)::hugeint as gpu_us
from queued where spare_us > before_us
