-- Grain: a step record with its verdict. Of the records with one key the smallest stands, whichever
-- came first; one equal to it is a duplicate, any other a conflict.
select * exclude (place, best), case
    when place = 1 then 'stands'
    when (ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, '')) = best then 'duplicate'
    else 'conflict'
  end as verdict
from (
  select *, row_number() over key as place,
    first_value((ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, ''))) over key as best
  from merged
  window key as (
    partition by job_id, attempt, step
    order by ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, ''), stored desc
  )
)
