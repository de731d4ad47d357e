-- Grain: a loan of GPUs that are reserved for a gang but idle until it is complete. recalled_us:
-- when the borrower was told to leave; was_on_time is null while it may still stay.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.* from events e, seen
  where e.event in ('backfill_started', 'backfill_ended') and e.ts_us <= seen.as_of_us
),
paired as (
  select s.job_id, s.for_job, s.ts_us as started_us, max(s.gpus) as gpus,
    bool_and(s.preemptible) as told_preemptible, min(e.ts_us) as ended_us
  from told s
  left join told e on e.event = 'backfill_ended' and e.job_id = s.job_id
    and e.for_job = s.for_job and e.ts_us >= s.ts_us
  where s.event = 'backfill_started'
  group by s.job_id, s.for_job, s.ts_us
),
recalled as (
  select p.*, min(g.ts_us) as recalled_us, arg_min(g.grace_us, g.ts_us) as grace_us
  from paired p
  left join events g on g.event = 'preemption_signal' and g.job_id = p.job_id
    and g.by_job = p.for_job and g.ts_us >= p.started_us
    and g.ts_us <= coalesce(p.ended_us, (select as_of_us from seen))
  group by all
)
select j.job, r.for_job, r.gpus, r.started_us, r.ended_us, r.recalled_us, r.grace_us,
  r.told_preemptible and coalesce(t.is_preemptible, true) as is_preemptible,
  case
    when r.recalled_us is null then case when r.ended_us is not null then true end
    when coalesce(r.ended_us, seen.as_of_us) > r.recalled_us + r.grace_us + w.leave_slack_us then false
    when r.ended_us is not null then true
  end as was_on_time
from recalled r
join jobs j using (job_id)
left join job_facts f using (job_id)
left join tier_names t on t.given = f.tier
cross join seen cross join wait_rules w
order by r.started_us, j.job
