-- Grain: a job at work that has a wall-clock. wall_us is summed from its labelled time, not from its
-- ledger, which must equal it; useful_us from the ledger. Goodput is useful_us / wall_us, and unknown
-- for a job without steps.
with walls_us as (
  select job_id, sum(end_us - start_us)::bigint as wall_us
  from fresh_labels where category is not null
  group by job_id
),
earned as (
  select job_id, sum(us)::bigint as useful_us from ledger semi join work_jobs using (job_id)
  where category = 'useful' group by job_id
)
select w.job_id, coalesce(u.wall_us, 0) as wall_us, coalesce(e.useful_us, 0) as useful_us
from walls w left join walls_us u using (job_id) left join earned e using (job_id)
where w.wall_start_us is not null
