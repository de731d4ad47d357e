-- Grain: (work hour, job, state of the nodes, category, component): the GPU-µs that a job held, spent as
-- its ledger says of the time in which it was not requeued. Where a job had the same GPUs all the time
-- these are its microseconds times its GPUs; else what it held is shared out in proportion, whole
-- microseconds by the largest remainder.
with held as (
  select cluster, hour_us, job_id, state, sum(gpu_us)::hugeint as gpu_us from (
    select cluster, hour_us, job_id, state, (end_us - start_us)::hugeint * gpus as gpu_us
    from held_segments
    union all select cluster, hour_us, job_id, 'allocated', gpu_us from unplaced
  ) group by all having sum(gpu_us) > 0
),
spent as (
  select job_id, hour_us, category, component, sum(us)::hugeint as us
  from ledger semi join held using (job_id, hour_us)
  where component <> 'requeue' group by all
),
parts as (
  select h.cluster, h.hour_us, h.job_id, h.state, s.category, s.component, h.gpu_us as whole_us,
    h.gpu_us * s.us as product, sum(s.us) over of_job as spent_us
  from held h join spent s using (job_id, hour_us)
  window of_job as (partition by h.job_id, h.hour_us, h.state)
),
floors as (
  select *, product // spent_us as gpu_us, row_number() over (
      partition by job_id, hour_us, state order by product % spent_us desc, category, component
    ) as place
  from parts
)
select cluster, hour_us, job_id, state, category, component, (gpu_us + case
    when place <= whole_us - sum(gpu_us) over (partition by job_id, hour_us, state) then 1 else 0
  end)::hugeint as gpu_us
from floors
