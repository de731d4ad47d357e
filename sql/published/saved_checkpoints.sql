-- Grain: a completed checkpoint of a job, with where it lies and what its job was made from.
-- is_newest: none of the job was completed later.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select job_id, arg_max(code_version, (ts_us, record_key)) as code_version,
    arg_max(data_version, (ts_us, record_key)) as data_version
  from events, seen where event = 'job_submitted' and ts_us <= as_of_us group by job_id
)
select j.job, e.attempt, e.step, e.ts_us, e.bytes, e.location,
  row_number() over (
    partition by e.job_id order by e.ts_us desc, e.attempt desc, e.step desc, e.record_key
  ) = 1 as is_newest, t.code_version, t.data_version
from events e
join seen on e.ts_us <= seen.as_of_us
join jobs j using (job_id)
left join told t using (job_id)
where e.event = 'checkpoint_completed'
order by j.job, e.ts_us, e.step
