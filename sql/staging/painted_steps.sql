-- Grain: a step of a group in `placed`, which is placements or stretches; with the columns that it
-- has there. It is painted from start_us to end_us, and the parts of that lie in it in this order:
-- loader, compute, straggler, checkpoint, overhead. The time from gap_start_us to gap_end_us before
-- it is not painted.
with placed_steps as (
  select p.* exclude (before_us, wall_start_us, first_ts_us), s.step, s.ts_us,
    s.data_wait_us, s.straggler_us, s.checkpoint_us, s.overhead_us,
    s.ts_us - s.duration_us as own_begin_us,
    coalesce(s.before_us, p.before_us) as before_us,
    coalesce(s.before_us, p.before_us, p.wall_start_us) as gap_start_us,
    coalesce(s.ts_us = p.first_ts_us, false) as is_first
  from steps s join query_table(placed) p on p.group_id = s.group_id
    and coalesce(s.before_us, 0) >= p.from_us and coalesce(s.before_us, 0) < p.until_us
  where p.seen_until_us is null or s.ts_us <= p.seen_until_us
),
begun as (
  -- Rounded stamps: a beginning less than 1 ms after the end before it is taken at that end.
  select *,
    case when own_begin_us < before_us + 1000 then before_us else own_begin_us end as begin_us
  from placed_steps
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
waited as (select *, least(data_wait_us, painted_us) as loader_us from measured),
straggled as (
  select * replace (least(straggler_us, painted_us - loader_us) as straggler_us),
    straggler_us as reported_straggler_us
  from waited
),
saved as (
  select * replace (
      least(checkpoint_us, painted_us - loader_us - straggler_us) as checkpoint_us),
    checkpoint_us as reported_checkpoint_us
  from straggled
),
spent as (
  select * replace (
      least(overhead_us, painted_us - loader_us - straggler_us - checkpoint_us) as overhead_us),
    overhead_us as reported_overhead_us
  from saved
)
select * exclude (before_us, own_begin_us, data_wait_us, reported_straggler_us,
    reported_checkpoint_us, reported_overhead_us, suspensions, paint_until_us, seen_until_us),
  case when painted_us > 0 then start_us else ts_us end as gap_end_us,
  painted_us - loader_us - straggler_us - checkpoint_us - overhead_us as compute_us,
  own_begin_us < before_us - 1000 and not is_first as is_clipped,
  not is_first and data_wait_us + reported_straggler_us + reported_checkpoint_us
    + reported_overhead_us > painted_us as is_over_reported
from spent
