-- Grain: a job at work, with its wall-clock. A job without an end that is steady and not suspended,
-- and of which nothing was heard for longer than silent_after, ends at its last record.
with latest as (
  select job_id, arg_max(kind, ordinal) = 'first_step' as steady from boundaries group by job_id
),
held as (select distinct job_id from suspensions where is_open),
judged as (
  select x.*, h.job_id is not null as suspended, x.unended and x.instrumented and l.steady
      and h.job_id is null
      and clock.as_of_us - x.last_record_us > clock.silent_after_us as silent
  from extents x left join latest l using (job_id) left join held h using (job_id), clock
)
select * exclude (silent), coalesce(silent, false) as silent,
  coalesce(given_interval_us, measured_interval_us) as checkpoint_interval_us,
  case
    when wall_start_us is null then null
    when silent then last_record_us
    else greatest(until_us, wall_start_us)
  end as wall_end_us,
  case
    when wall_start_us is null and unended then 'pending'
    when silent then 'silent'
    when not unended then outcome
    when suspended then 'suspended'
    else 'running'
  end as state
from judged left join checkpoint_intervals using (job_id)
