-- Grain: a step group that has not been looked at yet: how long its steps took. A group never
-- changes, so each is read once.
select s.group_id, g.job_id, g.attempt, g.hour_us, count(*) as steps,
  quantile_disc(s.duration_us, 0.1) as p10_us, quantile_disc(s.duration_us, 0.5) as median_us,
  quantile_disc(s.duration_us, 0.9) as p90_us, max(s.duration_us) as longest_us,
  arg_max(s.step, (s.duration_us, -s.step)) as longest_step,
  sum(s.data_wait_us)::bigint as loader_us, sum(s.straggler_us)::bigint as straggler_us,
  arg_max(s.straggler_node, (s.straggler_us, s.straggler_node)) filter (s.straggler_us > 0) as straggler_node
from steps s
join (from step_groups anti join step_hours using (group_id)) g using (group_id)
group by s.group_id, g.job_id, g.attempt, g.hour_us
