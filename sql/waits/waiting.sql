-- Grain: a job that has not ended and waits: for its first step (see marts/queue_waits), or again
-- since it stopped. part is pending with the reason that holds since reason_since_us, or requeue with
-- the cause of the interruption; gathered_gpus are set aside for it, null where nothing is.
with seen as (select max(as_of_us) as as_of_us from refreshes),
open_jobs as (
  select f.job_id, f.submitted_us, f.last_step_us, f.gpus, q.job_id is not null as is_first
  from job_facts f
  left join (from queue_waits where censored) q using (job_id)
  where f.state in ('pending', 'running')
),
told as (
  select e.job_id, e.event, e.ts_us, e.reason, e.detail, e.cause, e.gpus_gathered, e.record_key
  from events e semi join open_jobs using (job_id), seen
  where e.ts_us <= seen.as_of_us and e.event in ('job_pending', 'resources_allocated',
    'process_started', 'checkpoint_loaded', 'interruption', 'reservation_started',
    'reservation_updated', 'reservation_ended')
),
-- The last sign that the gang was at work; what is told later is told of a job that waits again.
at_work as (
  select o.job_id, greatest(o.last_step_us, max(t.ts_us)) as us
  from open_jobs o
  left join told t on t.job_id = o.job_id and t.event in ('resources_allocated',
    'process_started', 'checkpoint_loaded')
  group by o.job_id, o.last_step_us
),
since as (
  select job_id, submitted_us as since_us, false as is_again from open_jobs where is_first
  union all
  select o.job_id, min(t.ts_us), true
  from open_jobs o
  join at_work w using (job_id)
  join told t on t.job_id = o.job_id and t.ts_us > w.us
    and t.event in ('interruption', 'job_pending')
  where not o.is_first
  group by o.job_id
),
turns as (
  select s.job_id, s.since_us, s.is_again, s.since_us as at_us, 0 as ts_us, 0 as place,
    '' as record_key, case when s.is_again then 'requeue' else 'pending' end as part, '' as reason,
    null::varchar as detail, null::varchar as cause
  from since s
  union all
  select s.job_id, s.since_us, s.is_again, greatest(t.ts_us, s.since_us), t.ts_us,
    turn_place(t.event), t.record_key,
    case t.event when 'job_pending' then 'pending' else 'requeue' end,
    coalesce(t.reason, ''), t.detail, t.cause
  from since s join told t using (job_id)
  where t.event in ('job_pending', 'interruption') and (t.ts_us >= s.since_us or not s.is_again)
),
present as (
  select job_id, any_value(since_us) as since_us, any_value(is_again) as is_again,
    arg_max({part: part, reason: reason, at_us: at_us, detail: detail},
      (at_us, ts_us, place, record_key)) as turn,
    arg_max(cause, (at_us, ts_us, place, record_key)) filter (part = 'requeue') as cause
  from turns group by job_id
),
-- A reservation that is told to begin and to end at one moment is over.
reserved as (
  select t.job_id, max(t.ts_us) as since_us, arg_max({event: t.event, gpus: t.gpus_gathered},
      (t.ts_us, t.event = 'reservation_ended', t.event, t.record_key)) as last
  from told t join since s using (job_id)
  where starts_with(t.event, 'reservation') and t.ts_us >= s.since_us
  group by t.job_id
)
select j.job, p.since_us, p.is_again, p.turn.part as part, p.turn.reason as reason,
  p.turn.at_us as reason_since_us, p.turn.detail as detail, p.cause, o.gpus,
  r.last.gpus as gathered_gpus, r.since_us as gathered_since_us
from present p
join jobs j using (job_id)
join open_jobs o using (job_id)
left join (from reserved where last.event <> 'reservation_ended') r using (job_id)
order by p.since_us, j.job
