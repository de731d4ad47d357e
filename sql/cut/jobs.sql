-- Grain: a job that was on record: submitted, allocated or at a step by then. Its state is that of the
-- moment; wall_us and useful_us are summed from the ledger's hours up to it. Attributes, whether it
-- records steps, and that it fell silent after its last record are as they are known today.
with worked as (
  select job, sum(us)::bigint as wall_us,
    coalesce(sum(us) filter (category = 'useful'), 0)::bigint as useful_us
  from ledger group by job
),
held as (
  select distinct job from published.suspensions
  where start_us <= getvariable('until_us') and end_us > getvariable('until_us')
),
judged as (
  select j.*, coalesce(coalesce(j.wall_end_us, j.ended_us) <= getvariable('until_us'), false) as is_over,
    coalesce(j.wall_start_us <= getvariable('until_us'), false) as has_wall
  from published.jobs j
  where coalesce(least(j.submitted_us, j.wall_start_us), j.ended_us, j.last_record_us)
    <= getvariable('until_us')
)
select j.* exclude (is_over, has_wall) replace (
    case
      when is_over then state
      when not has_wall then 'pending'
      when h.job is not null then 'suspended'
      else 'running'
    end as state,
    silent and is_over as silent,
    case when submitted_us <= getvariable('until_us') then submitted_us end as submitted_us,
    case when has_wall then wall_start_us end as wall_start_us,
    case when has_wall then least(wall_end_us, getvariable('until_us')) end as wall_end_us,
    case when has_wall then coalesce(w.wall_us, 0) end as wall_us,
    case when has_wall then coalesce(w.useful_us, 0) end as useful_us,
    case when last_record_us <= getvariable('until_us') then last_record_us end as last_record_us,
    case when ended_us <= getvariable('until_us') then ended_us end as ended_us,
    case when is_over then last_cause end as last_cause
  )
from judged j left join worked w using (job) left join held h using (job)
