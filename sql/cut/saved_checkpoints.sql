-- Grain: as published, of checkpoints that were complete; is_newest among those.
select * replace (
    row_number() over (partition by job order by ts_us desc, attempt desc, step desc) = 1 as is_newest
  )
from published.saved_checkpoints where ts_us <= getvariable('until_us')
