-- Grain: a job that ended, of which nothing was recorded since $horizon_us and nothing arrived since
-- $arrived_before_us.
with recent as (from files where ingested_at_us >= $arrived_before_us)
select job_id from job_facts anti join (from folds where is_closed) using (job_id)
where not open and last_record_us < $horizon_us
  and job_id not in (select job_id from events semi join recent using (file_id)
    where job_id is not null)
  and job_id not in (select job_id from step_groups semi join recent using (file_id))
