-- Grain: a storage failure of a large job: an interruption with that cause (kind interruption); an
-- attempt that took up an older checkpoint than the newest complete one though nobody asked (older
-- checkpoint); a restore test of the newest that failed (failed test). lost_us is what was done
-- again; of a failed test what a restart at that moment would do again, back to the checkpoint
-- before; null where it is not known. mended_us: when a later test restored the newest one.
with interrupted as (
  select r.job, r.detected_us, coalesce(a.cause, r.cause) = 'storage' as is_storage
  from restarts r left join reattributions a using (job, detected_us)
),
rework as (
  select l.job, l.detected_us, sum(l.us)::bigint as lost_us
  from restart_losses l left join reattributions a using (job, detected_us)
  where l.component = 'rework' and coalesce(a.cause, l.cause) = 'storage'
  group by l.job, l.detected_us
),
instrumented as (select job from scoped_jobs where instrumented),
stopped as (
  select coalesce(i.job, w.job) as job, coalesce(i.detected_us, w.detected_us) as at_us,
    'interruption' as kind, coalesce(w.lost_us, case when n.job is not null then 0 end) as lost_us
  from (select job, detected_us from interrupted where is_storage) i
  full join rework w using (job, detected_us)
  left join instrumented n on n.job = coalesce(i.job, w.job)
),
passed_over as (
  select r.job, coalesce(r.detected_us, r.at_us) as at_us, 'older checkpoint' as kind, r.lost_us
  from resumptions r
  where r.step < r.newest_step and not r.deliberate
    and not exists (from stopped s where s.job = r.job and s.at_us = r.detected_us)
),
refused as (
  select t.job, t.ts_us as at_us, 'failed test' as kind,
    least(t.ts_us, coalesce(j.ended_us, t.ts_us)) - coalesce(
      (select max(s.ts_us) from saved_checkpoints s
        where s.job = t.job and s.ts_us < t.ts_us and s.step < t.step), j.wall_start_us) as lost_us
  from restore_tests t join scoped_jobs j using (job)
  where t.result = 'fail' and t.is_newest
)
select f.job, f.at_us, f.kind, f.lost_us, j.checkpoint_interval_us as interval_us,
  (select min(t.ts_us) from restore_tests t
    where t.job = f.job and t.result = 'pass' and t.is_newest and t.ts_us > f.at_us
  ) as mended_us
from (from stopped union all from passed_over union all from refused) f
join scoped_jobs j using (job)
where j.large_us is not null
order by f.job, f.at_us, f.kind
