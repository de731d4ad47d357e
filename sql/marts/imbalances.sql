-- Grain: a changed hour of a job whose ledger rows do not sum to the wall inside it, or in which a
-- row is not positive. There must be none.
with walls as (
  select job_id, hour_us, sum(end_us - start_us) as us from label_hours group by all
),
summed as (
  select job_id, hour_us, sum(us) as us, min(us) as least_us
  from ledger semi join changed_hours using (job_id, hour_us) group by all
)
select job_id, hour_us, (coalesce(s.us, 0) - coalesce(w.us, 0))::bigint as difference_us
from walls w full join summed s using (job_id, hour_us)
where coalesce(s.us, 0) <> coalesce(w.us, 0) or s.least_us <= 0
