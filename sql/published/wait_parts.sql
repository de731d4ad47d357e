-- Grain: (job, part, reason) of a queue wait.
select j.job, p.* exclude (job_id) from wait_parts p join jobs j using (job_id) order by all
