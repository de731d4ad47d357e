-- Grain: (job, hour) of the ledger that people excluded.
select distinct l.job, l.hour_us
from ledger l
join scoped_jobs j using (job)
join exclusions x on l.hour_us >= x.from_us and l.hour_us < x.until_us
  and coalesce(x.cluster = j.cluster, true) and coalesce(x.tier = j.tier, true)
  and coalesce(x.tenant = j.tenant, true) and coalesce(x.job = j.job, true)
