-- A row for each place where a refresh derived a duration that is not positive. There must be none.
select j.job || ' in the ledger at ' || make_timestamp(hour_us)::varchar as fault
from ledger semi join changed_hours using (job_id, hour_us) join jobs j using (job_id)
where us <= 0
union all
select j.job || ' in unpainted time at ' || make_timestamp(hour_us)::varchar
from unpainted semi join changed_hours using (job_id, hour_us) join jobs j using (job_id)
where us <= 0
union all
select j.job || ' in painted time at ' || make_timestamp(hour_us)::varchar
from painted_sums semi join dirty_contexts using (group_id) join jobs j using (job_id)
where least(useful_us, slow_us, rework_us, loader_us, straggler_us, checkpoint_us,
  overhead_us) < 0
union all
select j.job || ' in a restart at ' || make_timestamp(detected_us)::varchar
from restarts semi join work_jobs using (job_id) join jobs j using (job_id)
where age_us < 0
