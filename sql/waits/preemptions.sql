-- Grain: a preemption: a signal with the reclaim that followed it in its attempt, or a reclaim (an
-- interruption of that cause) without a signal. saved_us: the first checkpoint completed between
-- them. tells_signals: the reclaim was recorded by a source that can record signals.
with seen as (select max(as_of_us) as as_of_us from refreshes),
signals as (
  select e.job_id, e.attempt, e.ts_us as signalled_us, min(e.grace_us) as grace_us,
    min(e.by_job) as by_job
  from events e, seen
  where e.event = 'preemption_signal' and e.ts_us <= seen.as_of_us
  group by e.job_id, e.attempt, e.ts_us
),
reclaims as (
  select e.job_id, e.attempt, min(e.ts_us) as reclaimed_us,
    bool_or(f.source = 'canonical') as tells_signals
  from events e join files f using (file_id), seen
  where e.event = 'interruption' and e.cause = 'preemption' and e.ts_us <= seen.as_of_us
  group by e.job_id, e.attempt
),
answered as (
  select r.*, s.signalled_us, s.grace_us, s.by_job
  from reclaims r
  asof left join signals s on s.job_id = r.job_id and s.attempt = r.attempt
    and s.signalled_us <= r.reclaimed_us
),
preempted as (
  from answered
  union all by name
  from signals anti join answered using (job_id, attempt, signalled_us)
)
select j.job, p.job_id, p.attempt, p.signalled_us, p.grace_us, p.by_job, p.reclaimed_us,
  p.tells_signals, min(c.ts_us) as saved_us
from preempted p
join jobs j using (job_id)
left join events c on c.event = 'checkpoint_completed' and c.job_id = p.job_id
  and c.attempt = p.attempt and c.ts_us > p.signalled_us and c.ts_us <= p.reclaimed_us
group by all
