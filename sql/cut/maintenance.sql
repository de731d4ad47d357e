-- Grain: a window that was announced, or had begun, as it was last announced.
select * replace (
    case when began_us <= getvariable('until_us') then began_us end as began_us,
    case when ended_us <= getvariable('until_us') then ended_us end as ended_us,
    coalesce(announced_us <= getvariable('until_us'), false) as is_planned
  )
from published.maintenance where least(announced_us, began_us) <= getvariable('until_us')
