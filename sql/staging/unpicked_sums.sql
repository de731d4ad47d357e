-- Grain: a step group to derive: what its steps painted that are not picked.
with picked as (
  select group_id, count(*) as steps,
    count(*) filter (is_clipped(ts_us - duration_us, before_us)) as clipped_steps,
    sum(data_wait_us) as loader_us, sum(compute_us) as compute_us,
    sum(straggler_us) as straggler_us, sum(checkpoint_us) as checkpoint_us,
    sum(overhead_us) as overhead_us
  from picked_steps where compute_us is not null
  group by group_id
)
select g.group_id,
  g.settled_steps - coalesce(p.steps, 0) as steps,
  g.settled_clipped_steps - coalesce(p.clipped_steps, 0) as clipped_steps,
  g.settled_loader_us - coalesce(p.loader_us, 0) as loader_us,
  g.settled_compute_us - coalesce(p.compute_us, 0) as useful_us,
  g.settled_straggler_us - coalesce(p.straggler_us, 0) as straggler_us,
  g.settled_checkpoint_us - coalesce(p.checkpoint_us, 0) as checkpoint_us,
  g.settled_overhead_us - coalesce(p.overhead_us, 0) as overhead_us
from step_groups g semi join dirty_contexts using (group_id) left join picked p using (group_id)
