-- Grain: a job that ended, and of which nothing was recorded since $horizon_us.
select job_id from job_facts anti join (from folds where is_closed) using (job_id)
where not open and last_record_us < $horizon_us
