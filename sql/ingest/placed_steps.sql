-- Grain: a step of a rewritten hour, with the end of the step before it in that hour
-- (null for the first).
select *, lag(ts_us) over (
    partition by job_id, hour_us order by ts_us, attempt, step
  ) as before_us
from merged semi join rewritten using (job_id, hour_us)
