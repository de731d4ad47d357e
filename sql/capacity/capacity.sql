-- Grain: (cluster, work hour, category, component, tenant), rows of more than 0 GPU-µs. The states of
-- nodes are the categories, and component is node; but
--   allocated and unknown  is what the ledger says of the job that holds the GPUs; else component is
--                          no_record (allocated) or node (unknown)
--   backfill and draining  have as component the ledger's category of the job that still holds them
--   idle                   is stranded as far as a job that fits waits (see stranded)
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
  select h.cluster, h.hour_us,
    case when h.state in ('backfill', 'draining') then h.state else h.category end as category,
    case when h.state in ('backfill', 'draining') then h.category else h.component end as component,
    p.tenant, h.gpu_us
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
