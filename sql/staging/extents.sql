-- Grain: a job at work: how far it reaches. wall_start_us is null without allocation and step;
-- until_us is its end as far as records tell, before silence is considered.
with stepped as (
  select job_id, arg_min(head_begin_us, hour_us) as first_begin_us, max(last_ts_us) as last_step_us
  from seen_groups
  group by job_id
)
select job_id, a.* exclude (job_id), s.last_step_us,
  s.last_step_us is not null as instrumented,
  greatest(a.last_event_us, s.last_step_us) as last_record_us,
  least(a.first_allocated_us, s.first_begin_us) as wall_start_us,
  a.ended_us is null or coalesce(a.last_allocated_us > a.ended_us, false) as unended,
  case when a.ended_us is null or coalesce(a.last_allocated_us > a.ended_us, false)
    then clock.as_of_us else a.ended_us end as until_us
from job_attributes a full join stepped s using (job_id), clock
