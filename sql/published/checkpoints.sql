-- Grain: a job that saved, or tried to: how many checkpoints, the newest, and its restore tests.
with seen as (select max(as_of_us) as as_of_us from refreshes),
saved as (
  select e.job_id, count(*) filter (event = 'checkpoint_completed') as completed,
    count(*) filter (event = 'checkpoint_failed') as failed,
    max(e.ts_us) filter (event = 'checkpoint_completed') as newest_us,
    arg_max(e.step, e.ts_us) filter (event = 'checkpoint_completed') as newest_step,
    count(*) filter (event = 'restore_test' and result = 'pass') as passed,
    count(*) filter (event = 'restore_test' and result <> 'pass') as refused,
    max(e.ts_us) filter (event = 'restore_test' and result = 'pass') as proven_us,
    arg_max(e.step, e.ts_us) filter (event = 'restore_test' and result = 'pass') as proven_step
  from events e, seen
  where e.ts_us <= seen.as_of_us
    and e.event in ('checkpoint_completed', 'checkpoint_failed', 'restore_test')
  group by e.job_id
)
select j.job, s.* exclude (job_id) from saved s join jobs j using (job_id)
order by j.job
