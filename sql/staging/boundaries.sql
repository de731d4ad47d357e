-- Grain: a boundary of a job's non-step time, in the order in which they are taken.
-- kind is one of start, resources_allocated, process_started, checkpoint_loaded, first_step,
-- interruption; at_us is when it is taken, ts_us when it was recorded.
with recorded as (
  -- What is recorded of an attempt after its first step completed is no boundary.
  select e.job_id, e.attempt, e.ts_us, e.event as kind, null::varchar as cause, e.record_key
  from seen_events e
  left join attempts a using (job_id, attempt)
  where e.event in ('resources_allocated', 'process_started', 'checkpoint_loaded')
    and e.ts_us <= coalesce(a.first_ts_us, e.ts_us)
  union all
  select job_id, attempt, first_ts_us, 'first_step', null, null from attempts
),
earliest as (select job_id, attempt, min(ts_us) as ts_us from recorded group by job_id, attempt),
interruptions as (
  -- Clocks differ and attempts do not overlap: a later attempt's boundary bounds it.
  select i.job_id, i.attempt, i.ts_us, i.cause, i.record_key, least(i.ts_us, min(e.ts_us)) as at_us
  from seen_events i
  left join earliest e on e.job_id = i.job_id and e.attempt > i.attempt
  where i.event = 'interruption'
  group by i.job_id, i.attempt, i.ts_us, i.cause, i.record_key
),
boundaries as (
  select job_id, -1 as attempt, wall_start_us as ts_us, 'start' as kind, null::varchar as cause,
    null::varchar as record_key, wall_start_us as at_us, 0 as place
  from extents where wall_start_us is not null
  union all by name
  select *, ts_us as at_us, case kind
      when 'resources_allocated' then 1 when 'process_started' then 2
      when 'checkpoint_loaded' then 3 else 4 end as place
  from recorded
  union all by name
  select *, 'interruption' as kind, 5 as place from interruptions
)
select job_id, attempt, kind, cause, record_key, ts_us, at_us,
  row_number() over (
    partition by job_id order by at_us, attempt, place, ts_us, cause, record_key
  )::integer as ordinal
from (
  select b.* replace (greatest(b.at_us, x.wall_start_us) as at_us)
  from boundaries b join extents x using (job_id)
  where x.wall_start_us is not null
    and (b.kind = 'start' or greatest(b.at_us, x.wall_start_us) <= x.until_us)
)
