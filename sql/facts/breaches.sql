-- Grain: a restart in which a large job lost more than its checkpoint interval to a storage failure.
-- mended_us: when a later test restored the job's newest checkpoint.
with lost as (
  select l.job, l.detected_us, sum(l.us)::bigint as lost_us
  from restart_losses l left join reattributions r using (job, detected_us)
  where l.component = 'rework' and coalesce(r.cause, l.cause) = 'storage'
  group by l.job, l.detected_us
)
select l.job, l.detected_us, l.lost_us, j.checkpoint_interval_us as interval_us,
  (select min(t.ts_us) from restore_tests t
    where t.job = l.job and t.result = 'pass' and t.is_newest and t.ts_us > l.detected_us
  ) as mended_us,
  j.cluster, j.tier, j.tenant
from lost l join scoped_jobs j using (job)
where j.large_us is not null and l.lost_us > j.checkpoint_interval_us
order by all
