-- GPUs are not reclaimed before the grace window is over: each signalled reclaim. A job that has
-- saved needs no more of its window.
select job, reclaimed_us as at_us,
  reclaimed_us >= signalled_us + grace_us or saved_us is not null as kept,
  'attempt ' || attempt || ': reclaimed ' || said_us(reclaimed_us - signalled_us)
    || ' after the signal, of ' || said_us(grace_us) || case
    when saved_us is not null then '; it had saved'
    when reclaimed_us < signalled_us + grace_us then '; it had not saved'
    else '' end as detail
from preemptions
where signalled_us is not null and reclaimed_us is not null
