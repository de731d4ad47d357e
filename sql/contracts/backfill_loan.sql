-- Reserved GPUs are lent to preemptible work only, and it leaves on time: each loan.
select job, started_us as at_us,
  case when not is_preemptible then false else was_on_time end as kept,
  gpus || ' GPUs of ' || for_job || case
    when not is_preemptible then ' were lent to work that is not preemptible'
    when was_on_time is null then ' are still lent'
    when recalled_us is null then ' were given back before they were called back'
    when ended_us is null then ' were called back and are still held'
    else ' were given back ' || said_us(ended_us - recalled_us) || ' after they were called back, of '
      || said_us(grace_us)
  end as detail
from mart.loans
