-- Grain: an hour whose capacity the refresh derives anew, with the moment to which it is known: one in
-- which a node, or what a job does with GPUs, differs from what is stored, in which a job's ledger
-- changed, or into which as_of moved.
with nodes as (
  select cluster, node, start_us, max(was) as was, max(becomes) as becomes from (
    select cluster, node, start_us, (state, gpus) as was, null as becomes
    from node_points join work_nodes using (cluster, node) where start_us >= from_us
    union all
    select cluster, node, start_us, null, (state, gpus) from fresh_node_points
  ) group by all
),
jobs_at_work as (
  select job_id, start_us, max(was) as was, max(becomes) as becomes from (
    select job_id, start_us, (kind, cluster, tenant, gpus, nodes) as was, null as becomes
    from job_points semi join work_jobs using (job_id)
    union all
    select job_id, start_us, null, (kind, cluster, tenant, gpus, nodes) from fresh_job_points
  ) group by all
),
compared as (
  select start_us, lead(start_us) over points as end_us,
    last_value(was ignore nulls) over points is distinct from
      last_value(becomes ignore nulls) over points as differs
  from nodes window points as (partition by cluster, node order by start_us)
  union all
  select start_us, lead(start_us) over points,
    last_value(was ignore nulls) over points is distinct from
      last_value(becomes ignore nulls) over points
  from jobs_at_work window points as (partition by job_id order by start_us)
),
spans as (
  select start_us, coalesce(end_us, as_of_us) as end_us from compared, clock where differs
  union all
  select least(r.as_of_us, clock.as_of_us) // 3600000000 * 3600000000,
    greatest(r.as_of_us, clock.as_of_us)
  from refreshes r, clock
  union all
  -- In a rebuild also what stands of closed jobs.
  select start_us, coalesce(end_us, as_of_us) from job_points, clock
  where kind <> 'none' and not exists (from refreshes)
),
hours as (
  select unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000 as hour_us
  from spans
  union
  select hour_us from changed_hours
)
select distinct hour_us, least(hour_us + 3600000000, as_of_us) as until_us
from hours, clock where hour_us < as_of_us
