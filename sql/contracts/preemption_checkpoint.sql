-- A preempted job saves within its grace window: each signalled reclaim. Where nothing was saved but
-- nothing had to be done again either, there was nothing to save.
with judged as (
  select p.*, p.saved_us <= p.signalled_us + p.grace_us as saved_in_time,
    p.reclaimed_us < p.signalled_us + p.grace_us as was_cut, r.lost_steps, r.recovered_us
  from preemptions p
  asof left join restarts r on r.job_id = p.job_id and r.detected_us <= p.reclaimed_us
  where p.signalled_us is not null and p.reclaimed_us is not null
)
select job, reclaimed_us as at_us,
  case when saved_in_time then true when was_cut or recovered_us is null then null
    else lost_steps = 0 end as kept,
  'attempt ' || attempt || case
    when saved_in_time then ': saved ' || said_us(saved_us - signalled_us) || ' after the signal'
    when was_cut then ': the window was cut short'
    when recovered_us is null then ': nothing was saved; it has not resumed, so what that cost is unknown'
    when lost_steps is null then ': nothing was saved; without step records what that cost is unknown'
    when lost_steps = 0 then ': there was nothing new to save'
    else ': nothing was saved in its window of ' || said_us(grace_us) || '; steps done again: '
      || lost_steps
  end as detail
from judged
