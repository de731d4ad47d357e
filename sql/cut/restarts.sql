-- Grain: a restart that had been detected. One that was over is as published; any other was open, as
-- old as from its detection to the moment, its components what its hours up to then hold. How many
-- interruptions and attempts one of several had by then is not known. Steps that it threw back are
-- those known today, as in the ledger.
with spent as (
  select job, detected_us,
    sum(us) filter (component = 'detect') as detect_us,
    sum(us) filter (component = 'requeue') as requeue_us,
    sum(us) filter (component = 'launch') as launch_us,
    sum(us) filter (component = 'load') as load_us,
    sum(us) filter (component = 'first_step') as first_step_us
  from restart_losses group by job, detected_us
),
open_ones as (
  select r.* replace (
      null as recovered_us, 'open' as outcome, null as basis, null as time_to_restart_us,
      getvariable('until_us') - detected_us as age_us,
      case when interruptions = 1 then 1 end as interruptions,
      case when attempts_used = 0 then 0 end as attempts_used,
      case when r.detect_us is not null then coalesce(s.detect_us, 0) end::bigint as detect_us,
      coalesce(s.requeue_us, 0)::bigint as requeue_us, coalesce(s.launch_us, 0)::bigint as launch_us,
      coalesce(s.load_us, 0)::bigint as load_us,
      case when r.first_step_us is not null then coalesce(s.first_step_us, 0) end::bigint
        as first_step_us
    )
  from (from published.restarts
    where detected_us <= getvariable('until_us') and detected_us + age_us > getvariable('until_us')) r
  left join spent s using (job, detected_us)
)
from published.restarts where detected_us + age_us <= getvariable('until_us')
union all by name
from open_ones
