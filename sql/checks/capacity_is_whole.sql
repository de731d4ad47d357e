-- A row for each work hour of a cluster whose capacity does not sum to what is installed in it, and for
-- each row that is not positive. There must be none.
with installed as (
  select cluster, hour_us, sum((end_us - start_us)::hugeint * gpus) as gpu_us
  from node_segments group by all
),
summed as (
  select cluster, hour_us, sum(gpu_us) as gpu_us, min(gpu_us) as least_us
  from capacity semi join work_hours using (hour_us) group by all
)
select cluster || ' in the hour ' || make_timestamp(hour_us)::varchar || ': '
    || (coalesce(s.gpu_us, 0) - coalesce(i.gpu_us, 0))::varchar || ' GPU-µs' as fault
from installed i full join summed s using (cluster, hour_us)
where coalesce(s.gpu_us, 0) <> coalesce(i.gpu_us, 0) or s.least_us <= 0
