-- Grain: (large instrumented job, hour, category, component, cause), with whom it is charged to (null
-- for useful time). known_us is when the job became large, where that was after the hour.
select l.job, l.hour_us, l.category, l.component, l.cause, c.charge, sum(l.us)::bigint as us,
  any_value(j.cluster) as cluster, any_value(j.tier) as tier, any_value(j.tenant) as tenant,
  any_value(j.weight) as weight,
  case when any_value(j.large_us) > l.hour_us + 3600000000 then any_value(j.large_us) else 0 end
    as known_us
from adjusted_ledger l
join scoped_jobs j using (job)
left join charges c on (c.category, c.component, c.cause, c.tier)
  = (l.category, l.component, l.cause, j.tier)
where j.large_us is not null and j.instrumented
group by l.job, l.hour_us, l.category, l.component, l.cause, c.charge
having sum(l.us) <> 0
