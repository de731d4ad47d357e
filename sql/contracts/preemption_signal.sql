-- A preemption is signalled: each reclaim. Scheduler records hold no signals: unknown there.
select job, reclaimed_us as at_us,
  case when signalled_us is not null then true when tells_signals then false end as kept,
  'attempt ' || attempt || case
    when signalled_us is not null
      then ': signalled ' || said_us(reclaimed_us - signalled_us) || ' before the reclaim'
    when tells_signals then ': reclaimed without a signal'
    else ': its records come from a scheduler that records no signals'
  end as detail
from preemptions
where reclaimed_us is not null
