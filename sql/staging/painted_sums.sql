-- Grain: a step group, as the schema describes it.
with crossing as (
  -- What the first step of an hour painted counts in painted_pieces where it began before the hour.
  select stretch_id from painted_stretches join stretches using (stretch_id)
  where is_opener and last_start_us < hour_us
),
parts as (
  select t.group_id, p.steps, p.superseded_steps, p.clipped_steps, p.over_reported_steps,
    p.useful_us, p.slow_us, p.rework_us, p.loader_us, p.straggler_us, p.checkpoint_us, p.overhead_us
  from painted_stretches p join stretches t using (stretch_id) anti join crossing using (stretch_id)
  union all by name
  select t.group_id, p.steps, p.superseded_steps, p.clipped_steps, p.over_reported_steps
  from painted_stretches p join stretches t using (stretch_id) semi join crossing using (stretch_id)
  union all by name
  from unpicked_sums
)
select c.group_id, c.job_id, c.hour_us, c.attempt, c.rework_category, c.rework_cause,
  sum(p.steps) as steps,
  coalesce(sum(p.superseded_steps), 0) as superseded_steps,
  sum(p.clipped_steps) as clipped_steps,
  coalesce(sum(p.over_reported_steps), 0) as over_reported_steps,
  coalesce(sum(p.useful_us), 0) as useful_us,
  coalesce(sum(p.slow_us), 0) as slow_us,
  coalesce(sum(p.rework_us), 0) as rework_us,
  coalesce(sum(p.loader_us), 0) as loader_us,
  coalesce(sum(p.straggler_us), 0) as straggler_us,
  coalesce(sum(p.checkpoint_us), 0) as checkpoint_us,
  coalesce(sum(p.overhead_us), 0) as overhead_us
from dirty_contexts c join parts p using (group_id)
group by all
