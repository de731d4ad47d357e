-- Grain: a row of `those` (adjusted_ledger, or node_losses) of a large instrumented job, with whom it
-- is charged to (null for useful time). Rows may cancel out: only their sums mean anything. known_us
-- is when the job became large, where that was after the hour.
select l.*, c.charge, j.cluster, j.tier, j.tenant, j.weight,
  case when j.large_us > l.hour_us + 3600000000 then j.large_us else 0 end as known_us
from query_table(those) l
join scoped_jobs j using (job)
left join charges c on (c.category, c.component, c.cause, c.tier)
  = (l.category, l.component, l.cause, j.tier)
where j.large_us is not null and j.instrumented
