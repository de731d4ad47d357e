-- Grain: a change of what a job at work does with GPUs, to end_us (null: as_of). kind is
--   held     from an allocation until the interruption, the suspension or the end, as its labels say;
--            with the nodes, as they were told, and GPUs of the latest allocation
--   waiting  from submission to the start of its wall, and while it is requeued: for GPUs, not for
--            its owner (user_hold) or for another job (dependency)
--   none     at all other times
with labelled as (
  -- In the order in which they were written: by job and start.
  select job_id, start_us as at_us, case
      when category is null then 'none'
      when component = 'requeue' then 'waiting'
      else 'held' end as phase
  from fresh_labels
),
phases as (
  -- Most labels change what a job that holds its GPUs does with its time.
  from labelled
  qualify (job_id, phase) is distinct from lag((job_id, phase)) over ()
  union all
  select job_id, submitted_us, 'waiting' from walls
  where submitted_us < coalesce(wall_start_us, until_us)
  union all
  select job_id, until_us, 'none' from walls where wall_start_us is null and not unended
),
allocations as (
  select job_id, ts_us as at_us, arg_max({nodes: nodes, gpus: gpus}, (attempt, record_key))
    as allocation
  from seen_events where event = 'resources_allocated' group by job_id, ts_us
),
told as (
  select job_id, ts_us as at_us, bool_or(reason in ('user_hold', 'dependency')) as is_held_back
  from seen_events where event = 'job_pending' group by job_id, ts_us
),
holds as (
  from told
  union all
  -- A reason holds for the wait in which it was given.
  select job_id, at_us, false from labelled semi join (from told where is_held_back) using (job_id)
  where phase <> 'waiting'
),
moments as (
  select job_id, at_us, min(phase) as phase, max(allocation) as allocation,
    bool_or(is_held_back) as is_held_back
  from (
    select job_id, at_us, phase, null as allocation, null as is_held_back from phases
    union all by name select job_id, at_us, allocation from allocations
    union all by name select job_id, at_us, is_held_back from holds
  ) group by job_id, at_us
),
carried as (
  select job_id, at_us as start_us, last_value(phase ignore nulls) over so_far as phase,
    last_value(allocation ignore nulls) over so_far as allocation,
    coalesce(last_value(is_held_back ignore nulls) over so_far, false) as is_held_back
  from moments
  window so_far as (partition by job_id order by at_us rows unbounded preceding)
),
named as (
  select c.job_id, c.start_us,
    case when c.phase = 'waiting' and c.is_held_back then 'none' else coalesce(c.phase, 'none') end
      as kind,
    cluster_named(w.cluster) as cluster, coalesce(w.tenant, 'unknown') as tenant,
    w.gpus as job_gpus, c.allocation
  from carried c join walls w using (job_id)
),
changes as (
  select job_id, start_us, kind, cluster, tenant,
    case kind when 'held' then coalesce(allocation.gpus, job_gpus) when 'waiting' then job_gpus end
      as gpus,
    case kind when 'held' then nullif(allocation.nodes, []) end as nodes
  from named
  qualify (kind, cluster, tenant, gpus, nodes) is distinct from
    lag((kind, cluster, tenant, gpus, nodes)) over (partition by job_id order by start_us)
)
select *, lead(start_us) over (partition by job_id order by start_us) as end_us from changes
