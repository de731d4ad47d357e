-- Grain: a job that had completed a checkpoint. How long its saves took is published as one median of
-- them all: it is that of the moment where the last one had been completed, else not known.
with saved as (
  select job, count(*) as completed, arg_max(bytes, ts_us) filter (bytes is not null) as bytes
  from saved_checkpoints group by job
)
select job, case when s.completed = c.completed then p.timed end as timed,
  case when s.completed = c.completed then p.write_us end as write_us, s.bytes
from saved s join published.saves p using (job) join published.checkpoints c using (job)
