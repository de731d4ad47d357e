-- Grain: a job at work whose labels are not the stored ones: from_us is the first moment at which
-- they differ.
select job_id, min(start_us) as from_us
from fresh_labels f
full join (from labels semi join work_jobs using (job_id)) s using (job_id, start_us)
where f.job_id is null or s.job_id is null
  or (f.span, f.category, f.component, f.cause)
    is distinct from (s.span, s.category, s.component, s.cause)
group by job_id
