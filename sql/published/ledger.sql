-- Grain: (job, hour, category, component, cause), rows of more than 0 µs.
select j.job, l.* exclude (job_id) from ledger l join jobs j using (job_id)
order by j.job, l.hour_us, l.category, l.component, l.cause
