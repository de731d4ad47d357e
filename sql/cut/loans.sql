-- Grain: as published: loans that had begun. Whether one that went on would end on time was not known.
select * replace (
    case when ended_us <= getvariable('until_us') then ended_us end as ended_us,
    case when recalled_us <= getvariable('until_us') then recalled_us end as recalled_us,
    case when recalled_us <= getvariable('until_us') then grace_us end as grace_us,
    case when ended_us <= getvariable('until_us') then was_on_time end as was_on_time
  )
from published.loans where started_us <= getvariable('until_us')
