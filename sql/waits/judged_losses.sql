-- Grain: as losses, each against the checkpoint interval in force; the detail says why it lost more.
-- interval_us is told where something was lost: whether it is too long is for the planner to say.
with judged as (
  select *,
    case
      when not instrumented or recovered_us is null then null
      when lost_us = 0 then true
      else lost_us <= interval_us
    end as kept
  from losses
)
select job, detected_us, cause, kept, case when lost_us > 0 then interval_us end as interval_us,
  case
    when not instrumented then 'without step records nobody knows what it lost'
    when recovered_us is null then 'it has not resumed, so what it lost is unknown'
    when lost_us > 0 and interval_us is null
      then 'lost ' || said_us(lost_us) || '; no checkpoint interval of the job is known'
    else 'lost ' || said_us(lost_us) || coalesce(' of at most ' || said_us(interval_us), '')
  end
  || case
    when coalesce(kept, true) then ''
    when saved_step is null then '; no checkpoint was ever completed'
    when resumed_step < saved_step
      then '; step ' || saved_step || ' was saved but it resumed from step ' || resumed_step
    when detected_us - saved_us > interval_us
      then '; checkpoints are missing: the newest was ' || said_us(detected_us - saved_us) || ' old'
    when resumed_step >= saved_step then '; a later restart went further back than this one'
    else '' end
  as detail
from judged
