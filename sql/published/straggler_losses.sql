-- Grain: (job, hour, node): the part of the ledger's (straggler, step) that was waited for a node that
-- the steps name.
with parts as (
  select p.job_id, p.hour_us, s.node, s.us from straggler_groups s join painted_sums p using (group_id)
  union all
  select job_id, hour_us, node, us from painted_stragglers
),
summed as (
  select job_id, hour_us, node, sum(us)::bigint as us
  from parts group by job_id, hour_us, node having sum(us) > 0
)
-- By number, which is sorted faster than by name: what is read of one job still lies together.
select j.job, s.* exclude (job_id)
from summed s join jobs j using (job_id)
order by job_id, s.hour_us, s.node
