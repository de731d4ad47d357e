-- Grain: (restart of a large job, hour, category, component, cause) whose interruption named a node.
select l.job, l.node, l.hour_us, l.category, l.component, l.cause, j.cluster, j.tier, j.tenant, j.weight, c.charge, l.us
from (
  select l.* replace (coalesce(r.category, l.category) as category, coalesce(r.cause, l.cause) as cause)
  from restart_losses l left join reattributions r using (job, detected_us)
) l
join scoped_jobs j using (job)
join charges c on (c.category, c.component, c.cause, c.tier)
  = (l.category, l.component, l.cause, j.tier)
where l.node is not null and j.large_us is not null and j.instrumented
