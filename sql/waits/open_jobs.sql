-- Grain: a job that has not ended, with its last step; is_first: it has not got to its first one.
select j.job, f.submitted_us, f.last_step_us, f.gpus, q.job_id is not null as is_first
from job_facts f
join jobs j using (job_id)
left join (from queue_waits where censored) q using (job_id)
where f.state in ('pending', 'running')
