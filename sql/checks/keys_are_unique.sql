-- A row for each key that stands twice: a ledger row of a changed hour, or a step in the attempts
-- whose groups overlap in step numbers and that the refresh painted. There must be none.
select j.job || ' has two ledger rows ' || concat_ws('/', category, component, cause) || ' at '
    || make_timestamp(hour_us)::varchar as fault
from ledger semi join changed_hours using (job_id, hour_us) join jobs j using (job_id)
group by j.job, hour_us, category, component, cause having count(*) > 1
union all
select j.job || ' attempt ' || attempt || ' has step ' || step || ' twice'
from (
  select a.job_id, a.attempt, s.step
  from step_groups a
  join dirty_contexts d on d.job_id = a.job_id and d.attempt = a.attempt
  join step_groups b on b.group_id = d.group_id and b.group_id <> a.group_id
    and a.min_step <= b.max_step and b.min_step <= a.max_step
  join steps s on s.group_id in (a.group_id, b.group_id)
  group by a.job_id, a.attempt, a.group_id, b.group_id, s.step having count(*) > 1
) join jobs j using (job_id)
