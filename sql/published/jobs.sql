-- Grain: a job. wall_us and useful_us are null for a job that has no wall-clock.
select j.job, f.cluster, coalesce(t.tier, f.tier) as tier, f.tenant, f."user", f.name, f.gpus,
  f.checkpoint_interval_us, f.state, f.instrumented, f.silent, f.submitted_us, f.wall_start_us, f.wall_end_us,
  g.wall_us, g.useful_us, f.last_record_us
from job_facts f
join jobs j using (job_id)
left join goodput g using (job_id)
left join tier_names t on t.given = f.tier
order by j.job
