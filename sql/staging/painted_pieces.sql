-- Grain: a stretch of an hour painted by a part of a step that crosses hours, or an unpainted gap.
with apart as (
  select p.group_id, c.job_id, c.rework_category, c.rework_cause, unnest(p.apart, recursive := true)
  from painted_groups p join dirty_contexts c using (group_id)
  where p.apart is not null
),
placed as (
  select *,
    start_us + loader_us as compute_from_us,
    start_us + loader_us + useful_us + slow_us + rework_us as straggler_from_us
  from apart
),
stretches as (
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
    from placed where is_crossing
  )
  union all
  select group_id, job_id, 'gap', null, null, null, gap_start_us, gap_end_us
  from placed where gap_start_us is not null
),
hourly as (
  select *, unnest(range(start_us // 3600000000, (end_us - 1) // 3600000000 + 1)) * 3600000000
    as hour_us
  from stretches where end_us > start_us
)
select group_id, job_id, hour_us, greatest(start_us, hour_us) as start_us,
  least(end_us, hour_us + 3600000000) as end_us, part, category, component, cause
from hourly
