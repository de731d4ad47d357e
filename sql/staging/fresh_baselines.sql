-- Grain: an attempt whose baseline must be measured: over the compute of its steps number 2 to 102
-- in order (by ts, then step) the lower median and the nearest-rank 90th percentile.
with ranked as (
  select job_id, attempt, compute_us,
    row_number() over (partition by job_id, attempt order by ts_us, step) as place
  from painted_steps('early_steps', 'stale_groups')
),
sorted as (
  select job_id, attempt, list_sort(list(compute_us)) as computes
  from ranked where place between 2 and 102
  group by job_id, attempt
)
select i.job_id, i.attempt, i.inputs, coalesce(len(s.computes), 0) as measured_steps,
  s.computes[(len(s.computes) + 1) // 2] as median_us,
  s.computes[(9 * len(s.computes) + 9) // 10] as p90_us
from stale_baselines i left join sorted s using (job_id, attempt)
