-- Grain: (job, attempt, hour): how long its steps took, and what they waited for inside.
select j.job, h.* exclude (job_id, group_id) from step_hours h join jobs j using (job_id), (select max(as_of_us) as as_of_us from refreshes) seen
where h.hour_us < seen.as_of_us
order by j.job, h.hour_us, h.attempt
