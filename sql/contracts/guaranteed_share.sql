-- A tenant gets its guaranteed share before others borrow: each allocation to a job that is not
-- preemptible with which its tenant holds more than its guarantee. It breaks the contract where a job
-- of another tenant was waiting that needed no more GPUs, of nodes of the same size, and would have
-- stayed within its own tenant's guarantee. Preemptible work runs on loan and is left out. Where jobs
-- run on nodes of several sizes and one that waits never did, nobody knows which would fit it.
with seen as (select max(as_of_us) as as_of_us from refreshes),
members as (
  select f.job_id, j.job, f.tenant, f.gpus from job_facts f join jobs j using (job_id)
  left join tier_names t on t.given = f.tier
  where f.tenant is not null and f.gpus is not null and not coalesce(t.is_preemptible, false)
    and exists (from shares)
),
told as (
  select e.job_id, e.ts_us, e.event, e.reason, e.record_key
  from events e join members m using (job_id), seen
  where e.ts_us <= seen.as_of_us and e.event in ('resources_allocated', 'job_pending',
    'interruption', 'job_suspended', 'job_ended')
),
-- What a job is told last at a moment holds from then on.
turns as (
  select job_id, ts_us, arg_max(
      event = 'job_pending' and reason in ('quota', 'gang_size', 'priority'),
      (coalesce(turn_place(event), 9), record_key)
    ) as competes
  from told group by job_id, ts_us
),
held_gangs as (
  select h.job_id, h.start_us as from_us, h.until_us, h.node_gpus
  from holds h semi join members using (job_id)
),
moves as (
  select m.tenant, h.from_us as ts_us, m.gpus as change from held_gangs h join members m using (job_id)
  union all
  select m.tenant, h.until_us, -m.gpus from held_gangs h join members m using (job_id)
  where h.until_us is not null
),
held as (
  select tenant, ts_us, sum(sum(change)) over (partition by tenant order by ts_us)::bigint as gpus
  from moves group by tenant, ts_us
),
sizes as (select job_id, max(node_gpus) as node_gpus from held_gangs group by job_id),
kinds as (select count(distinct node_gpus) as number from held_gangs),
borrowing as (
  select m.job, m.tenant, m.gpus, h.from_us as at_us, h.node_gpus, k.gpus as held,
    coalesce(s.guaranteed_gpus, 0) as guaranteed
  from held_gangs h
  join members m using (job_id)
  join held k on k.tenant = m.tenant and k.ts_us = h.from_us
  left join shares s on s.tenant = m.tenant
  where k.gpus > coalesce(s.guaranteed_gpus, 0)
),
queued as (
  select m.job, m.tenant, m.gpus, z.node_gpus, t.ts_us as from_us, t.goes_on,
    coalesce(t.next_us, 9223372036854775807) as until_us
  from (
    select *, lead(ts_us) over of_job as next_us, lead(competes) over of_job as goes_on
    from turns window of_job as (partition by job_id order by ts_us)
  ) t join members m using (job_id) left join sizes z using (job_id)
  where t.competes
),
rivals as (
  select b.job, b.at_us, q.job as waiting, q.tenant, q.gpus,
    coalesce(b.node_gpus = q.node_gpus, kinds.number <= 1) as is_same_kind
  from borrowing b
  join queued q on q.from_us < b.at_us
    and (q.until_us > b.at_us or (q.until_us = b.at_us and q.goes_on))
    and q.tenant <> b.tenant and q.gpus <= b.gpus
  join shares s on s.tenant = q.tenant
  asof left join held k on k.tenant = q.tenant and k.ts_us <= b.at_us
  cross join kinds
  where coalesce(k.gpus, 0) + q.gpus <= s.guaranteed_gpus
    and coalesce(b.node_gpus = q.node_gpus, true)
),
worst as (
  select job, at_us, bool_or(is_same_kind) as is_sure,
    arg_max(waiting || ' (' || tenant || ', ' || gpus || ' GPUs)', (is_same_kind, waiting)) as waiting
  from rivals group by job, at_us
)
select b.job, b.at_us,
  case when w.job is null then true when w.is_sure then false end as kept,
  'its tenant ' || b.tenant || ' then held ' || b.held || ' of ' || b.guaranteed || ' guaranteed GPUs, '
    || case when w.job is null then 'and no job within its own guarantee could have had them'
      else 'while ' || w.waiting || ' waited within its guarantee' end
    || case when w.is_sure is false then '; whether these nodes fit it is unknown' else '' end
    as detail
from borrowing b left join worst w using (job, at_us)
union all
select null, null, null, 'the policy guarantees no tenant a share (`shares:`)'
where not exists (from shares)
