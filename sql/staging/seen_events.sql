-- Grain: a lifecycle record of a job at work, not later than as_of.
select e.* from events e semi join work_jobs using (job_id), clock where e.ts_us <= clock.as_of_us
