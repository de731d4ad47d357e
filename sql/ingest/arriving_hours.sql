-- Grain: (job, attempt, hour) of the incoming steps, with the range of their numbers.
select job, attempt, hour_of(ts_us) as hour_us,
  min(step) as min_step, max(step) as max_step
from incoming
group by all
