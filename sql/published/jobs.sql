-- Grain: a job. wall_us and useful_us are null for a job that has no wall-clock; last_cause is that
-- of its last interruption.
with told as (
  select e.job_id,
    arg_max(e.expected_duration_us, (e.ts_us, e.expected_duration_us))
      filter (e.event = 'job_submitted') as expected_duration_us,
    max(e.ts_us) filter (e.event = 'job_ended') as ended_us,
    arg_max(e.cause, (e.ts_us, e.record_key)) filter (e.event = 'interruption') as last_cause
  from events e, (select max(as_of_us) as as_of_us from refreshes) seen
  where e.ts_us <= seen.as_of_us
  group by e.job_id
)
select j.job, f.cluster, coalesce(t.tier, f.tier) as tier, f.tenant, f."user", f.name, f.gpus,
  f.checkpoint_interval_us, f.state, f.instrumented, f.silent, f.submitted_us, f.wall_start_us, f.wall_end_us,
  g.wall_us, g.useful_us, f.last_record_us, d.expected_duration_us, d.ended_us, d.last_cause
from job_facts f
join jobs j using (job_id)
left join goodput g using (job_id)
left join told d using (job_id)
left join tier_names t on t.given = f.tier
order by j.job
