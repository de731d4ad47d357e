-- Grain: an attempt that was on record, with what had happened to it. Of one that went on when its
-- last step ended, and its number, are not known; its steps are counted by the hour.
with counted as (
  select job, attempt, sum(steps)::bigint as steps from step_hours group by job, attempt
)
select a.* replace (
    case when allocated_us <= getvariable('until_us') then allocated_us end as allocated_us,
    case when first_step_us <= getvariable('until_us') then first_step_us end as first_step_us,
    case when last_step_us <= getvariable('until_us') then last_step_us end as last_step_us,
    case when interrupted_us <= getvariable('until_us') then interrupted_us end as interrupted_us,
    case when last_step_us <= getvariable('until_us') then a.steps
      when first_step_us <= getvariable('until_us') then c.steps end as steps,
    case when first_step_us <= getvariable('until_us') then min_step end as min_step,
    case when last_step_us <= getvariable('until_us') then max_step end as max_step,
    case when allocated_us <= getvariable('until_us') then nodes end as nodes
  )
from published.attempts a left join counted c using (job, attempt)
where least(allocated_us, first_step_us, interrupted_us) <= getvariable('until_us')
