-- Grain: a job that has a wall-clock: what its saves, failures and steps cost, in µs; null where no
-- record tells. blocked_us: what saves blocked the loop for; write_us: the median time from the
-- beginning of a save until it was complete; down_us: from the end of progress to the next first
-- step, over all restarts, those that go on up to now.
with blocked as (
  select job, sum(us)::bigint as blocked_us from ledger where category = 'checkpoint' group by job
),
stopped as (
  select job, count(*) as restarts, sum(coalesce(detect_us, 0) + age_us)::bigint as down_us
  from restarts group by job
),
stepped as (
  select job, quantile_disc(median_us, 0.5) as step_us from step_hours group by job
)
select j.job, j.gpus, j.weight, j.cluster, j.tier, j.tenant, j.instrumented, j.large_us, j.wall_us,
  j.useful_us, j.checkpoint_interval_us as interval_us, coalesce(c.completed, 0) as saves,
  b.blocked_us, s.write_us, s.bytes, coalesce(r.restarts, 0) as restarts, r.down_us, t.step_us
from scoped_jobs j
left join checkpoints c using (job)
left join saves s using (job)
left join blocked b using (job)
left join stopped r using (job)
left join stepped t using (job)
where j.wall_us > 0
order by j.job
