-- Grain: (cluster, work hour): GPU-µs that were idle while a job that fits waited: no more than those
-- jobs need together. A job fits where it needs no more GPUs than are idle; one whose GPUs no record
-- names may not.
with idle as (
  select cluster, hour_us, start_us, end_us, gpus from free_segments where state = 'idle'
),
waiting as (
  select cluster, hour_us, start_us, end_us, gpus from job_pieces
  where kind = 'waiting' and gpus > 0
),
changes as (
  select cluster, hour_us, at_us, sum(idle_gpus) as idle_gpus from (
    select cluster, hour_us, start_us as at_us, gpus as idle_gpus from idle
    union all select cluster, hour_us, end_us, -gpus from idle
    union all select cluster, hour_us, start_us, 0 from waiting
    union all select cluster, hour_us, end_us, 0 from waiting
  ) group by all
),
levels as (
  select cluster, hour_us, at_us as start_us, lead(at_us) over moments as end_us,
    (sum(idle_gpus) over moments)::bigint as idle_gpus
  from changes window moments as (partition by cluster, hour_us order by at_us)
),
wanted as (
  select l.cluster, l.hour_us, l.start_us, l.end_us, l.idle_gpus, sum(w.gpus) as gpus
  from levels l
  join waiting w on w.cluster = l.cluster and w.hour_us = l.hour_us and w.start_us < l.end_us
    and l.start_us < w.end_us and w.gpus <= l.idle_gpus
  group by all
)
select cluster, hour_us, sum((end_us - start_us)::hugeint * least(gpus, idle_gpus))::hugeint as gpu_us
from wanted group by all
