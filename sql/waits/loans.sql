-- Grain: a loan of GPUs that are reserved for a gang but idle until it is complete. recalled_us:
-- when the borrower was told to leave; was_on_time is null while it may still stay.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.job_id, e.for_job, e.ts_us, bool_or(e.event = 'backfill_started') as starts,
    bool_or(e.event = 'backfill_ended') as ends,
    max(e.gpus) filter (e.event = 'backfill_started') as gpus,
    bool_and(e.preemptible) filter (e.event = 'backfill_started') as told_preemptible
  from events e, seen
  where e.event in ('backfill_started', 'backfill_ended') and e.ts_us <= seen.as_of_us
  group by e.job_id, e.for_job, e.ts_us
),
-- An end and a start at one moment: one loan follows another, or none was open and this one was brief.
followed as (
  select *, min(case when ends then ts_us end) over later as ended_us,
    coalesce(last_value(case when starts <> ends then starts end ignore nulls) over earlier, false)
      as was_open
  from told
  window later as (partition by job_id, for_job order by ts_us
      rows between 1 following and unbounded following),
    earlier as (partition by job_id, for_job order by ts_us
      rows between unbounded preceding and 1 preceding)
),
paired as (
  select job_id, for_job, ts_us as started_us, gpus, told_preemptible,
    case when ends and not was_open then ts_us else ended_us end as ended_us
  from followed where starts
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
