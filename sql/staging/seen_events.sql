-- Grain: a lifecycle record of a job at work, not later than as_of, with the fields that models use.
select e.record_key, e.event, e.ts_us, e.cluster, e.job_id, e.attempt, e.step, e.cause, e.reason,
  e.outcome, e.name, e.tier, e.tenant, e."user", e.gpus, e.nodes, e.blocking, e.deliberate,
  e.expected_step_us, e.checkpoint_interval_us
from events e semi join work_jobs using (job_id), clock where e.ts_us <= clock.as_of_us
