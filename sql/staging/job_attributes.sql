-- Grain: a job at work. Submission: the earliest; attributes: the latest given; GPUs: of the latest
-- allocation that names them, else of the submission.
with given as (select *, (ts_us, record_key) as place from seen_events)
select job_id,
  arg_max(cluster, place) filter (event = 'job_submitted') as cluster,
  arg_max(tier, place) filter (event = 'job_submitted') as tier,
  arg_max(tenant, place) filter (event = 'job_submitted') as tenant,
  arg_max("user", place) filter (event = 'job_submitted') as "user",
  arg_max(name, place) filter (event = 'job_submitted') as name,
  arg_max(expected_step_us, place) filter (event = 'job_submitted') as expected_step_us,
  arg_max(checkpoint_interval_us, place) filter (event = 'job_submitted')
    as given_interval_us,
  min(ts_us) filter (event = 'job_submitted') as submitted_us,
  coalesce(
    arg_max(gpus, place) filter (event = 'resources_allocated'),
    arg_max(gpus, place) filter (event = 'job_submitted')
  ) as gpus,
  min(ts_us) filter (event = 'resources_allocated') as first_allocated_us,
  max(ts_us) filter (event = 'resources_allocated') as last_allocated_us,
  max(ts_us) filter (event = 'job_ended') as ended_us,
  arg_max(outcome, place) filter (event = 'job_ended') as outcome,
  max(ts_us) as last_event_us
from given
group by job_id
