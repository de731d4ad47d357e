-- Grain: a job that has not ended and waits: for its first step (see marts/queue_waits), or again
-- since it stopped. part is pending with the reason that holds since reason_since_us, or requeue with
-- the cause of the interruption; gathered_gpus are set aside for it, null where nothing is. Read from
-- open_jobs and wait_turns, both up to now or both up to a moment of the past.
with told as (from wait_turns semi join open_jobs using (job)),
-- The last sign that the gang was at work; what is told later is told of a job that waits again.
at_work as (
  select o.job, greatest(o.last_step_us, max(t.ts_us)) as us
  from open_jobs o
  left join told t on t.job = o.job and t.event in ('resources_allocated',
    'process_started', 'checkpoint_loaded')
  group by o.job, o.last_step_us
),
since as (
  select job, submitted_us as since_us, false as is_again from open_jobs where is_first
  union all
  select o.job, min(t.ts_us), true
  from open_jobs o
  join at_work w using (job)
  join told t on t.job = o.job and t.ts_us > w.us
    and t.event in ('interruption', 'job_pending')
  where not o.is_first
  group by o.job
),
turns as (
  select s.job, s.since_us, s.is_again, s.since_us as at_us, 0 as ts_us, 0 as place,
    '' as record_key, case when s.is_again then 'requeue' else 'pending' end as part, '' as reason,
    null::varchar as detail, null::varchar as cause
  from since s
  union all
  select s.job, s.since_us, s.is_again, greatest(t.ts_us, s.since_us), t.ts_us,
    t.place, t.record_key,
    case t.event when 'job_pending' then 'pending' else 'requeue' end,
    coalesce(t.reason, ''), t.detail, t.cause
  from since s join told t using (job)
  where t.event in ('job_pending', 'interruption') and (t.ts_us >= s.since_us or not s.is_again)
),
present as (
  select job, any_value(since_us) as since_us, any_value(is_again) as is_again,
    arg_max({part: part, reason: reason, at_us: at_us, detail: detail},
      (at_us, ts_us, place, record_key)) as turn,
    arg_max(cause, (at_us, ts_us, place, record_key)) filter (part = 'requeue') as cause
  from turns group by job
),
-- A reservation that is told to begin and to end at one moment is over.
reserved as (
  select t.job, max(t.ts_us) as since_us, arg_max({event: t.event, gpus: t.gpus_gathered},
      (t.ts_us, t.event = 'reservation_ended', t.event, t.record_key)) as last
  from told t join since s using (job)
  where starts_with(t.event, 'reservation') and t.ts_us >= s.since_us
  group by t.job
)
select p.job, p.since_us, p.is_again, p.turn.part as part, p.turn.reason as reason,
  p.turn.at_us as reason_since_us, p.turn.detail as detail, p.cause, o.gpus,
  r.last.gpus as gathered_gpus, r.since_us as gathered_since_us
from present p
join open_jobs o using (job)
left join (from reserved where last.event <> 'reservation_ended') r using (job)
order by p.since_us, p.job
