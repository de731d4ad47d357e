-- Grain: as the ledger's, but rows may cancel out: what a re-attributed restart cost is taken from
-- its recorded cause and given to the other; hours that a scope was excluded from are left out.
with recorded as (
  select job, hour_us, category, component, cause, us from ledger
  union all
  select job, hour_us, category, component, cause, -us
  from restart_losses semi join reattributions using (job, detected_us)
  union all
  select l.job, l.hour_us, r.category, l.component, r.cause, l.us
  from restart_losses l join reattributions r using (job, detected_us)
)
select r.* from recorded r join scoped_jobs j using (job)
where not exists (
  select 1 from exclusions x
  where r.hour_us >= x.from_us and r.hour_us < x.until_us
    and coalesce(x.cluster = j.cluster, true) and coalesce(x.tier = j.tier, true)
    and coalesce(x.tenant = j.tenant, true) and coalesce(x.job = j.job, true)
)
