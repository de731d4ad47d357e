-- Grain: a job that had been submitted. A wait that went on is censored at the moment.
select * exclude (is_over) replace (
    case when is_over then started_us end as started_us,
    case when is_over then basis end as basis,
    case when is_over then censored else true end as censored,
    case when is_over then wait_us else getvariable('until_us') - submitted_us end as wait_us
  )
from (
  select *, submitted_us + wait_us <= getvariable('until_us') as is_over from published.queue_waits
  where submitted_us <= getvariable('until_us')
)
