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
from recorded anti join excluded_hours using (job, hour_us)
