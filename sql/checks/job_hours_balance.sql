-- A row for each changed hour of a job whose ledger does not sum to the wall inside it, and for each
-- job whose ledger does not sum to its wall. There must be none.
with walls as (
  select job_id, hour_us, sum(end_us - start_us) as us from label_hours group by all
),
summed as (
  select job_id, hour_us, sum(us) as us from ledger semi join changed_hours using (job_id, hour_us)
  group by all
),
by_job as (
  select job_id, sum(us) as us from ledger semi join work_jobs using (job_id) group by job_id
)
select j.job || ' in the hour ' || make_timestamp(hour_us)::varchar || ': '
    || (coalesce(s.us, 0) - coalesce(w.us, 0))::varchar || ' µs' as fault
from walls w full join summed s using (job_id, hour_us) join jobs j using (job_id)
where coalesce(s.us, 0) <> coalesce(w.us, 0)
union all
select j.job || ' as a whole: ' || (coalesce(b.us, 0) - g.wall_us)::varchar || ' µs'
from goodput g semi join work_jobs using (job_id) join jobs j using (job_id)
left join by_job b using (job_id)
where coalesce(b.us, 0) <> g.wall_us
