-- Grain: a stretch in which a job held its gang: from an allocation until the job is told to have
-- stopped, to wait or to have ended (until_us, null: not yet). Through a suspension only if it goes on
-- without another allocation; through one that lasts, while its nodes are told not to be free.
-- end_us: until_us, or the end of its wall-clock. node_gpus: GPUs a node.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.job_id, e.ts_us, e.event, e.attempt, e.record_key, nullif(e.nodes, []) as nodes,
    f.gpus // len(nullif(e.nodes, [])) as node_gpus
  from events e join job_facts f using (job_id), seen
  where e.ts_us <= seen.as_of_us and e.event in ('resources_allocated', 'job_pending',
    'interruption', 'job_suspended', 'job_ended')
),
followed as (
  select *, lead(event) over turns as next_event,
    last_value(nodes ignore nulls) over (turns rows unbounded preceding) as held_nodes
  from told
  window turns as (
    partition by job_id order by ts_us, turn_place(event), attempt, event, record_key
  )
),
suspended as (
  select f.job_id, f.ts_us, f.next_event,
    flatten(list_transform(f.held_nodes, lambda node: node_names(node))) as nodes
  from followed f
  anti join attempt_facts a
    on a.job_id = f.job_id and a.first_ts_us <= f.ts_us and a.last_ts_us > f.ts_us
  where f.event = 'job_suspended'
),
states as (
  select s.job_id, s.ts_us as suspended_us, n.ts_us,
    n.state in ('idle', 'spare_for_restart', 'warm_pool', 'gang_reserved') as is_free
  from suspended s
  left join events n on n.event = 'node_state' and list_has_any(node_names(n.node), s.nodes)
    and n.ts_us <= (from seen)
  where s.next_event is null
),
-- A node that is told to be free and taken at one moment was given from one job to another.
freed as (
  select job_id, case
      when coalesce(arg_max(is_free, (ts_us, not is_free)) filter (ts_us < suspended_us), true)
        then suspended_us
      else min(ts_us) filter (is_free and ts_us >= suspended_us)
    end as ts_us
  from states group by job_id, suspended_us
),
released as (
  select job_id, ts_us from told
  where event in ('interruption', 'job_ended', 'job_pending', 'resources_allocated')
  union all
  select job_id, ts_us from suspended where next_event in ('resources_allocated', 'job_pending')
  union all
  from freed
),
held as (
  select t.job_id, t.ts_us as start_us, min(r.ts_us) as until_us, any_value(t.node_gpus) as node_gpus
  from told t left join released r on r.job_id = t.job_id and r.ts_us > t.ts_us
  where t.event = 'resources_allocated'
  group by t.job_id, t.ts_us
)
select h.*, greatest(coalesce(h.until_us, f.wall_end_us), h.start_us) as end_us
from held h join job_facts f using (job_id)
