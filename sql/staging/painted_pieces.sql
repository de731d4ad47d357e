-- Grain: a stretch of an hour painted by a part of a step that crosses hours, or an unpainted gap
-- that may: that before the first step of an hour, or what reached beyond a change of label.
with placed as (
  select *, last_start_us as start_us, start_us + loader_us as compute_from_us,
    start_us + loader_us + useful_us + slow_us + rework_us as straggler_from_us
  from painted_stretches join stretches using (stretch_id)
),
parts as (
  select group_id, job_id, part, category, component, cause, start_us, end_us
  from (
    select group_id, job_id, unnest([
      {part: 'step', category: 'loader', component: 'step', cause: '', start_us: start_us,
        end_us: compute_from_us},
      {part: 'step', category: 'useful', component: 'step', cause: '', start_us: compute_from_us,
        end_us: compute_from_us + useful_us},
      {part: 'step', category: 'unattributed', component: 'slow_step', cause: '',
        start_us: compute_from_us + useful_us, end_us: compute_from_us + useful_us + slow_us},
      {part: 'step', category: rework_category, component: 'rework', cause: rework_cause,
        start_us: compute_from_us, end_us: compute_from_us + rework_us},
      {part: 'step', category: 'straggler', component: 'step', cause: '',
        start_us: straggler_from_us, end_us: straggler_from_us + straggler_us},
      {part: 'step', category: 'checkpoint', component: 'step', cause: '',
        start_us: straggler_from_us + straggler_us,
        end_us: straggler_from_us + straggler_us + checkpoint_us},
      {part: 'step', category: 'job', component: 'overhead', cause: '',
        start_us: straggler_from_us + straggler_us + checkpoint_us,
        end_us: straggler_from_us + straggler_us + checkpoint_us + overhead_us}
    ], recursive := true)
    from placed where is_opener and start_us < hour_us
  )
  union all
  select group_id, job_id, 'gap', null, null, null,
    case when is_opener then first_gap_start_us else until_us end, last_gap_end_us
  from placed
  union all
  select group_id, job_id, 'gap', null, null, null, until_us, last_gap_end_us
  from unpicked_gaps join stretches using (stretch_id)
),
hourly as (
  select *, unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000
    as hour_us
  from parts where end_us > start_us
)
select group_id, job_id, hour_us, greatest(start_us, hour_us) as start_us,
  least(end_us, hour_us + 3600000000) as end_us, part, category, component, cause
from hourly
