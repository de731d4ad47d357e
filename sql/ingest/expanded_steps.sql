-- Grain: a step. A good record that stands for n steps becomes n, back to back, each duration the
-- integer part of an n-th and the remainder going to the last (components likewise).
-- Reads judged_steps (see there); where a line is not known it is the record's place among them.
with good as (
  select * replace (coalesce(line, rowid + 1) as line) from judged_steps where reason is null
),
single as (
  select job, attempt, step, ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us,
    overhead_us, straggler_node, line
  from good where stands_for = 1
),
numbered as (
  select *, unnest(range(stands_for)) as place from good where stands_for > 1
),
split as (
  select job, attempt, step - stands_for + 1 + place as step,
    case when place = stands_for - 1 then ts_us
      else ts_us - duration_us + (duration_us // stands_for) * (place + 1) end as ts_us,
    (duration_us // stands_for)
      + case when place = stands_for - 1 then duration_us % stands_for else 0 end as duration_us,
    (data_wait_us // stands_for)
      + case when place = stands_for - 1 then data_wait_us % stands_for else 0 end as data_wait_us,
    (straggler_us // stands_for)
      + case when place = stands_for - 1 then straggler_us % stands_for else 0 end as straggler_us,
    (checkpoint_us // stands_for)
      + case when place = stands_for - 1 then checkpoint_us % stands_for else 0 end
      as checkpoint_us,
    (overhead_us // stands_for)
      + case when place = stands_for - 1 then overhead_us % stands_for else 0 end as overhead_us,
    straggler_node, line
  from numbered
)
from single union all by name from split
