-- Grain: a step of `those` (steps, or some of them) whose group is in `placed`, which is placements
-- or stretches; with the columns that it has there. It is painted from start_us to end_us, and the parts of that lie in it in this order:
-- loader, compute, straggler, checkpoint, overhead. The time from gap_start_us to gap_end_us before
-- it is not painted.
with placed_steps as (
  select p.* exclude (before_us, wall_start_us, first_ts_us), s.step, s.ts_us,
    s.data_wait_us, s.straggler_us, s.checkpoint_us, s.overhead_us,
    s.ts_us - s.duration_us as own_begin_us,
    coalesce(s.before_us, p.before_us) as before_us,
    coalesce(s.before_us, p.before_us, p.wall_start_us) as gap_start_us,
    coalesce(s.ts_us = p.first_ts_us, false) as is_first
  from query_table(those) s join query_table(placed) p on p.group_id = s.group_id
    and coalesce(s.before_us, 0) >= p.from_us and coalesce(s.before_us, 0) < p.until_us
  where p.seen_until_us is null or s.ts_us <= p.seen_until_us
),
begun as (
  select *, begins_us(own_begin_us, before_us) as begin_us from placed_steps
),
bounded as (
  select * exclude (begin_us),
    case when suspensions is null then begin_us else greatest(begin_us, list_max(list_transform(
      list_filter(suspensions, lambda s: s.end_us <= ts_us), lambda s: s.end_us))) end as start_us,
    case when suspensions is null then least(ts_us, paint_until_us)
      else least(ts_us, paint_until_us, list_min(list_transform(list_filter(suspensions,
        lambda s: s.start_us <= ts_us and ts_us < s.end_us), lambda s: s.start_us)))
      end as end_us
  from begun
),
measured as (
  select *, case when is_first or end_us <= start_us then 0 else end_us - start_us end as painted_us
  from bounded
),
filled as (
  -- How far the components reach into what is painted, one after another.
  select *, least(data_wait_us, painted_us) as to_loader_us,
    least(data_wait_us + straggler_us, painted_us) as to_straggler_us,
    least(data_wait_us + straggler_us + checkpoint_us, painted_us) as to_checkpoint_us,
    data_wait_us + straggler_us + checkpoint_us + overhead_us as reported_us
  from measured
)
select * exclude (before_us, own_begin_us, data_wait_us, suspensions, paint_until_us, seen_until_us,
    to_loader_us, to_straggler_us, to_checkpoint_us, reported_us)
  replace (
    to_straggler_us - to_loader_us as straggler_us,
    to_checkpoint_us - to_straggler_us as checkpoint_us,
    least(reported_us, painted_us) - to_checkpoint_us as overhead_us
  ),
  to_loader_us as loader_us,
  greatest(painted_us - reported_us, 0) as compute_us,
  case when painted_us > 0 then start_us else ts_us end as gap_end_us,
  is_clipped(own_begin_us, before_us) and not is_first as is_clipped,
  not is_first and reported_us > painted_us as is_over_reported
from filled
