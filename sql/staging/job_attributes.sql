-- Grain: a job at work. Submission: the earliest; attributes: the latest given; GPUs: of the latest
-- allocation that names them, else of the submission. Of two given at one moment the largest.
select job_id,
  arg_max(cluster, (ts_us, cluster)) filter (event = 'job_submitted') as cluster,
  arg_max(tier, (ts_us, tier)) filter (event = 'job_submitted') as tier,
  arg_max(tenant, (ts_us, tenant)) filter (event = 'job_submitted') as tenant,
  arg_max("user", (ts_us, "user")) filter (event = 'job_submitted') as "user",
  arg_max(name, (ts_us, name)) filter (event = 'job_submitted') as name,
  arg_max(expected_step_us, (ts_us, expected_step_us)) filter (event = 'job_submitted') as expected_step_us,
  arg_max(checkpoint_interval_us, (ts_us, checkpoint_interval_us)) filter (event = 'job_submitted')
    as given_interval_us,
  min(ts_us) filter (event = 'job_submitted') as submitted_us,
  coalesce(
    arg_max(gpus, (ts_us, gpus)) filter (event = 'resources_allocated'),
    arg_max(gpus, (ts_us, gpus)) filter (event = 'job_submitted')
  ) as gpus,
  min(ts_us) filter (event = 'resources_allocated') as first_allocated_us,
  max(ts_us) filter (event = 'resources_allocated') as last_allocated_us,
  max(ts_us) filter (event = 'job_ended') as ended_us,
  arg_max(outcome, (ts_us, outcome)) filter (event = 'job_ended') as outcome,
  max(ts_us) as last_event_us
from seen_events
group by job_id
