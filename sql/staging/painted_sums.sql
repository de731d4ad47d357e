-- Grain: a step group, as the schema describes it.
with parts as (
  select t.group_id, t.is_opener and p.last_start_us < t.hour_us as is_crossing, p.*
  from painted_stretches p join stretches t using (stretch_id)
)
select c.group_id, c.job_id, c.hour_us, c.attempt, c.rework_category, c.rework_cause,
  sum(p.steps) as steps,
  sum(p.superseded_steps) as superseded_steps,
  sum(p.clipped_steps) as clipped_steps,
  sum(p.over_reported_steps) as over_reported_steps,
  coalesce(sum(p.useful_us) filter (not is_crossing), 0) as useful_us,
  coalesce(sum(p.slow_us) filter (not is_crossing), 0) as slow_us,
  coalesce(sum(p.rework_us) filter (not is_crossing), 0) as rework_us,
  coalesce(sum(p.loader_us) filter (not is_crossing), 0) as loader_us,
  coalesce(sum(p.straggler_us) filter (not is_crossing), 0) as straggler_us,
  coalesce(sum(p.checkpoint_us) filter (not is_crossing), 0) as checkpoint_us,
  coalesce(sum(p.overhead_us) filter (not is_crossing), 0) as overhead_us
from dirty_contexts c join parts p using (group_id)
group by all
