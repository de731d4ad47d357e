-- Grain: a step group to derive: what its steps painted inside its hour, and one by one (`apart`)
-- the steps that began in an earlier hour, and gaps that did or that lie in an hour with several
-- labels.
with judged as (
  select s.*, c.limit_us, c.is_cut,
    coalesce(s.step > c.superseded_above, false) as is_lost,
    s.start_us < s.hour_us and s.painted_us > 0 as is_crossing,
    case when s.compute_us > 2 * c.limit_us then s.compute_us - c.limit_us else 0 end as excess_us
  from painted_steps s join dirty_contexts c using (group_id)
),
split as (
  select *,
    case when is_lost then 0 else excess_us end as slow_us,
    case when is_lost then compute_us else 0 end as rework_us,
    case when is_lost then 0 else compute_us - excess_us end as useful_us,
    gap_end_us > gap_start_us and (is_cut or gap_start_us < hour_us) as is_gap_apart
  from judged
)
select group_id, count(*) as steps,
  count(*) filter (is_lost) as superseded_steps,
  count(*) filter (is_clipped) as clipped_steps,
  count(*) filter (is_over_reported) as over_reported_steps,
  coalesce(sum(useful_us) filter (not is_crossing), 0) as useful_us,
  coalesce(sum(slow_us) filter (not is_crossing), 0) as slow_us,
  coalesce(sum(rework_us) filter (not is_crossing), 0) as rework_us,
  coalesce(sum(loader_us) filter (not is_crossing), 0) as loader_us,
  coalesce(sum(straggler_us) filter (not is_crossing), 0) as straggler_us,
  coalesce(sum(checkpoint_us) filter (not is_crossing), 0) as checkpoint_us,
  coalesce(sum(overhead_us) filter (not is_crossing), 0) as overhead_us,
  coalesce(sum(gap_end_us - gap_start_us) filter (
    not is_gap_apart and gap_end_us > gap_start_us), 0) as gap_us,
  list({
    is_crossing: is_crossing, start_us: start_us, loader_us: loader_us, useful_us: useful_us,
    slow_us: slow_us, rework_us: rework_us, straggler_us: straggler_us,
    checkpoint_us: checkpoint_us, overhead_us: overhead_us,
    gap_start_us: case when is_gap_apart then gap_start_us end,
    gap_end_us: case when is_gap_apart then gap_end_us end
  }) filter (is_crossing or is_gap_apart) as apart
from split
group by group_id
