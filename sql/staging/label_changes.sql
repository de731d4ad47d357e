-- Grain: an hour of a job in which the new labels differ from the stored ones.
with shown as (
  -- The last label before they differ is the same in both.
  select f.* exclude (end_us), f.start_us < r.from_us as was, true as becomes
  from fresh_labels f join relabelled r using (job_id)
  where coalesce(f.end_us >= r.from_us, true)
  union all by name
  select l.*, true as was, false as becomes
  from labels l join relabelled r using (job_id)
  where l.start_us >= r.from_us
),
marks as (
  select job_id, start_us, max(label) filter (was) as was, max(label) filter (becomes) as becomes
  from (
    select *, concat_ws('|', coalesce(span::varchar, '-'), coalesce(category, '-'), component, cause)
        as label
    from shown
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
