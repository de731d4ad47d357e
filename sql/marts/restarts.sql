-- Grain: a restart of a job at work: a span from an interruption until the next first step of an
-- attempt completes (of a job without steps: the next process_started, or else allocation).
with all_states as (
  select job_id, ordinal, at_us, kind, attempt, cause, record_key, recoveries, span,
    kind = 'first_step' as recovers
  from states
  union all by name
  select job_id, ordinal, at_us, kind, attempt, cause, record_key, recoveries, span, recovers
  from runs
),
begun as (
  select job_id, span, min(at_us) as detected_us, arg_min(cause, ordinal) as cause,
    count(*) filter (kind = 'interruption') as interruptions
  from all_states where span is not null group by job_id, span
),
recovered as (
  select b.job_id, b.span, s.at_us as recovered_us, s.kind as basis
  from begun b join all_states s on s.job_id = b.job_id and s.recovers and s.recoveries = b.span
),
used as (
  select job_id, recoveries as span, count(distinct attempt) as attempts_used
  from all_states
  where kind <> 'interruption' and (span is not null or recovers)
  group by job_id, recoveries
),
lost as (
  select s.job_id, s.span, sum(p.superseded_steps)::bigint as lost_steps
  from attempts a
  join all_states s on s.job_id = a.job_id and s.record_key = a.lost_to
  join painted_sums p on p.job_id = a.job_id and p.attempt = a.attempt
  group by s.job_id, s.span
),
spent as (
  select job_id, span,
    coalesce(sum(us) filter (component = 'detect'), 0)::bigint as detect_us,
    coalesce(sum(us) filter (component = 'requeue'), 0)::bigint as requeue_us,
    coalesce(sum(us) filter (component = 'launch'), 0)::bigint as launch_us,
    coalesce(sum(us) filter (component = 'load'), 0)::bigint as load_us,
    coalesce(sum(us) filter (component = 'first_step'), 0)::bigint as first_step_us
  from unpainted semi join work_jobs using (job_id)
  where span is not null group by job_id, span
)
select b.job_id, b.detected_us, r.recovered_us, b.cause,
  case when r.recovered_us is not null then 'recovered' when w.unended then 'open'
    else 'abandoned' end as outcome,
  r.basis,
  coalesce(u.attempts_used, 0) as attempts_used, b.interruptions,
  case when w.instrumented then coalesce(l.lost_steps, 0) end as lost_steps,
  r.recovered_us - b.detected_us as time_to_restart_us,
  coalesce(r.recovered_us, w.wall_end_us) - b.detected_us as age_us,
  case when w.instrumented then coalesce(s.detect_us, 0) end as detect_us,
  coalesce(s.requeue_us, 0) as requeue_us, coalesce(s.launch_us, 0) as launch_us,
  coalesce(s.load_us, 0) as load_us,
  case when w.instrumented then coalesce(s.first_step_us, 0) end as first_step_us
from begun b
join walls w using (job_id)
left join recovered r using (job_id, span)
left join used u using (job_id, span)
left join lost l using (job_id, span)
left join spent s using (job_id, span)
