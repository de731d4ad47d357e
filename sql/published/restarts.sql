-- Grain: a restart.
select j.job, r.* exclude (job_id) from restarts r join jobs j using (job_id)
order by j.job, r.detected_us
