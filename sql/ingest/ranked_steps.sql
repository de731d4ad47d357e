-- Grain: a step record with its verdict. Of the records with one key the smallest stands, whichever
-- came first; one equal to it is a duplicate, any other a conflict. Parameter: $file_id.
select * exclude (place, best) replace (coalesce(file_id, $file_id)::integer as file_id),
  hour_of(ts_us) as hour_us, file_id is not null as stored,
  case
    when place = 1 then 'stands'
    when (ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, '')) = best then 'duplicate'
    else 'conflict'
  end as verdict
from (
  select *, row_number() over key as place,
    first_value((ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, ''))) over key as best
  from step_records
  window key as (
    partition by job_id, attempt, step
    order by ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
      coalesce(straggler_node, ''), file_id is not null desc
  )
)
