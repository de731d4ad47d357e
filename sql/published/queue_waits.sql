-- Grain: a job that was submitted.
select j.job, q.* exclude (job_id) replace (coalesce(t.tier, q.tier) as tier)
from queue_waits q join jobs j using (job_id) left join tier_names t on t.given = q.tier
order by j.job
