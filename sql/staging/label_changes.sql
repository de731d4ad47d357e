-- Grain: an hour of a job in which the new labels differ from the stored ones.
with marks as (
  select job_id, start_us, max(was) as was, max(becomes) as becomes from (
    select job_id, start_us, null as was,
      concat_ws('|', coalesce(span::varchar, '-'), coalesce(category, '-'), component, cause)
        as becomes
    from fresh_labels
    union all
    select job_id, start_us,
      concat_ws('|', coalesce(span::varchar, '-'), coalesce(category, '-'), component, cause), null
    from labels semi join work_jobs using (job_id)
  ) group by job_id, start_us
),
compared as (
  select job_id, start_us, lead(start_us) over moments as end_us,
    coalesce(last_value(was ignore nulls) over moments, '-|-') as was,
    coalesce(last_value(becomes ignore nulls) over moments, '-|-') as becomes
  from marks
  window moments as (partition by job_id order by start_us)
)
select distinct job_id,
  unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000 as hour_us
from compared
where was <> becomes and end_us is not null
