-- Grain: a stretch of a changed hour inside the wall, with its label.
with hourly as (
  select *, unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000
    as hour_us
  from fresh_labels where category is not null
)
select job_id, hour_us, greatest(start_us, hour_us) as start_us,
  least(end_us, hour_us + 3600000000) as end_us, span, category, component, cause
from hourly semi join changed_hours using (job_id, hour_us)
