-- Grain: a job, with the moment from which on it is large (null: never; 0: as submitted), whether it
-- is short, and the weight of its time. Parameters: least GPUs, least length and short length in µs.
with growing as (
  select job from jobs
  where gpus >= $large_gpus and coalesce(expected_duration_us < $large_duration_us, true)
),
walls as (
  select job, hour_us, sum(sum(us)) over (partition by job order by hour_us) as wall_us
  from ledger semi join growing using (job) group by job, hour_us
),
grown as (
  select job, min(hour_us) + 3600000000 as large_us from walls
  where wall_us >= $large_duration_us group by job
),
judged as (
  select j.* replace (coalesce(j.cluster, 'default') as cluster, coalesce(j.tier, 'unknown') as tier,
      coalesce(j.tenant, 'unknown') as tenant),
    coalesce(j.gpus, 1) as weight,
    case when coalesce(j.gpus, 1) >= $large_gpus then
      case when j.expected_duration_us >= $large_duration_us then 0 else g.large_us end
    end as large_us,
    coalesce(j.expected_duration_us, case when j.ended_us is not null then j.wall_us end)
      < $short_duration_us as looks_short
  from jobs j left join grown g using (job)
)
select * exclude (looks_short), coalesce(looks_short, false) and large_us is null as is_short
from judged
