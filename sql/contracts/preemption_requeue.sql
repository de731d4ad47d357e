-- A preempted job is requeued by itself: each reclaim, by what is told of the job next.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select p.job_id, p.attempt, arg_min({event: e.event, outcome: e.outcome, ts_us: e.ts_us},
      (e.ts_us, e.event = 'job_ended', e.event = 'job_submitted', e.record_key)) as next
  from preemptions p
  join events e on e.job_id = p.job_id and e.ts_us >= p.reclaimed_us
    and (e.event in ('job_pending', 'job_submitted', 'job_ended')
      or (e.event in ('resources_allocated', 'process_started', 'checkpoint_loaded')
        and e.attempt > p.attempt))
  cross join seen
  where e.ts_us <= seen.as_of_us
  group by p.job_id, p.attempt
)
select p.job, p.reclaimed_us as at_us,
  case
    when t.next.event = 'job_submitted' or t.next.outcome = 'failed' then false
    when t.next.event <> 'job_ended' then true
  end as kept,
  'attempt ' || p.attempt || case
    when t.next is null then ': nothing was told of the job since'
    when t.next.event = 'job_submitted' then ': somebody had to submit it again'
    when t.next.event = 'job_ended' then ': it ended as ' || t.next.outcome || ' without another attempt'
    else ': back in the queue ' || said_us(t.next.ts_us - p.reclaimed_us) || ' later'
  end as detail
from preemptions p left join told t using (job_id, attempt)
where p.reclaimed_us is not null
