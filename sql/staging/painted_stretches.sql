-- Grain: a stretch: what its picked steps painted, and the time before them that they did not paint,
-- as far as it lies in the stretch. Only the last gap can reach beyond it: then last_gap_end_us does.
with judged as (
  select *, coalesce(step > superseded_above, false) as is_lost,
    case when compute_us > 2 * baseline_us then compute_us - baseline_us else 0 end as excess_us
  from painted_steps('picked_steps', 'stretches')
)
select stretch_id, count(*) as steps,
  sum(is_lost::integer) as superseded_steps,
  sum(is_clipped::integer) as clipped_steps,
  sum(is_over_reported::integer) as over_reported_steps,
  sum(case when is_lost then 0 else excess_us end)::bigint as slow_us,
  sum(case when is_lost then compute_us else 0 end)::bigint as rework_us,
  sum(compute_us)::bigint - slow_us - rework_us as useful_us,
  sum(loader_us)::bigint as loader_us,
  sum(straggler_us)::bigint as straggler_us,
  sum(checkpoint_us)::bigint as checkpoint_us,
  sum(overhead_us)::bigint as overhead_us,
  sum(greatest(least(gap_end_us, until_us) - gap_start_us, 0))::bigint as gap_us,
  min(gap_start_us) as first_gap_start_us,
  max(gap_end_us) as last_gap_end_us,
  max(start_us) as last_start_us
from judged
group by stretch_id
