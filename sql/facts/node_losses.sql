-- Grain: as charged_hours, and by node, of what was lost to a node: the one that an interruption
-- named, or the one that steps waited for. Causes as re-attributed, excluded hours left out.
with losses as (
  select l.job, l.hour_us, coalesce(r.category, l.category) as category, l.component,
    coalesce(r.cause, l.cause) as cause, l.us, l.node
  from restart_losses l left join reattributions r using (job, detected_us)
  where l.node is not null
  union all
  select job, hour_us, 'straggler', 'step', '', us, node from straggler_losses
)
from losses anti join excluded_hours using (job, hour_us)
