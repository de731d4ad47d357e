-- Grain: (cluster, work hour, category, component, tenant), rows of more than 0 GPU-µs.
with free as (
  select cluster, hour_us, state, sum((end_us - start_us)::hugeint * gpus)::hugeint as gpu_us
  from free_segments group by all
),
claimed as (
  select cluster, hour_us, 'allocated' as state, sum(gpu_us)::hugeint as gpu_us from unplaced group by all
  union all
  select cluster, hour_us, 'idle', gpu_us from stranded
),
parts as (
  select h.cluster, h.hour_us, h.category, h.component, p.tenant, h.gpu_us
  from held_hours h
  join (select job_id, any_value(tenant) as tenant from job_points group by job_id) p using (job_id)
  union all
  select cluster, hour_us, state, case state when 'allocated' then 'no_record' else 'node' end, null,
    f.gpu_us - coalesce(c.gpu_us, 0)
  from free f left join claimed c using (cluster, hour_us, state)
  union all
  select cluster, hour_us, 'stranded', 'node', null, gpu_us from stranded
)
select cluster, hour_us, category, component, tenant, sum(gpu_us)::hugeint as gpu_us
from parts group by all having sum(gpu_us) > 0
