-- Grain: (job, hour, node): the part of the ledger's (straggler, step) that was waited for a node that
-- the steps name.
with parts as (
  select p.job_id, p.hour_us, s.node, s.us from straggler_groups s join painted_sums p using (group_id)
  union all
  select job_id, hour_us, node, us from painted_stragglers
)
select j.job, p.hour_us, p.node, sum(p.us)::bigint as us
from parts p join jobs j using (job_id)
group by j.job, p.hour_us, p.node having sum(p.us) > 0
order by all
