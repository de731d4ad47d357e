-- A preempted job saves within its grace window: each signalled reclaim. Where nothing was saved but
-- nothing had to be done again either, there was nothing to save: its attempt had made no step, or
-- the next one that made any went on from its last.
with judged as (
  select p.*, f.instrumented, p.saved_us <= p.signalled_us + p.grace_us as saved_in_time,
    p.reclaimed_us < p.signalled_us + p.grace_us as was_cut, a.max_step as last_step,
    case when n.min_step is not null then greatest(a.max_step - n.min_step + 1, 0) end as lost_steps
  from preemptions p
  join job_facts f using (job_id)
  left join attempt_facts a on a.job_id = p.job_id and a.attempt = p.attempt
  asof left join attempt_facts n on n.job_id = p.job_id and n.attempt > p.attempt
  where p.signalled_us is not null and p.reclaimed_us is not null
)
select job, reclaimed_us as at_us,
  case when saved_in_time then true when not instrumented then null when last_step is null then true
    when was_cut then null else lost_steps = 0 end as kept,
  'attempt ' || attempt || case
    when saved_in_time then ': saved ' || said_us(saved_us - signalled_us) || ' after the signal'
    when not instrumented
      then ': nothing was saved; without step records what that cost is unknown'
    when last_step is null then ': it had made no step, so there was nothing to save'
    when was_cut then ': the window was cut short'
    when lost_steps is null
      then ': nothing was saved; it has not resumed, so what that cost is unknown'
    when lost_steps = 0 then ': there was nothing new to save'
    else ': nothing was saved in its window of ' || said_us(grace_us) || '; steps done again: '
      || lost_steps
  end as detail
from judged
