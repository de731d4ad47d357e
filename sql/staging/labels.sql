-- Grain: a stretch of a job's time with one label, to end_us, where the job's next one begins (see the
-- schema); that of the last is null.
with all_states as (
  select job_id, ordinal, at_us, component, cause, span, detect_from_us, exit_cause, kind
  from states
  union all by name
  select job_id, ordinal, at_us, component, cause, span, detect_from_us, exit_cause, kind from runs
),
following as (
  -- A steady state knows when and for what cause it will have ended.
  select *,
    lead(detect_from_us) over next_one as next_detect_from_us,
    lead(exit_cause) over next_one as next_exit_cause,
    lead(case when kind = 'interruption' then span end) over next_one as next_span
  from all_states
  window next_one as (partition by job_id order by ordinal)
),
edges as (
  select job_id, at_us, ordinal from all_states
  union all by name select job_id, start_us as at_us, 1 as upkeep from windows
    where start_us < end_us
  union all by name select job_id, end_us as at_us, -1 as upkeep from windows
    where start_us < end_us
  union all by name select job_id, start_us as at_us, 1 as pause from pauses
    where layer = 'pause' and start_us < end_us
  union all by name select job_id, end_us as at_us, -1 as pause from pauses
    where layer = 'pause' and start_us < end_us
  union all by name select job_id, start_us as at_us, 1 as phase from pauses
    where layer = 'phase' and start_us < end_us
  union all by name select job_id, end_us as at_us, -1 as phase from pauses
    where layer = 'phase' and start_us < end_us
  union all by name select job_id, start_us as at_us, 1 as held from suspensions
  union all by name select job_id, end_us as at_us, -1 as held from suspensions
  union all by name select job_id, next_detect_from_us as at_us from following
    where next_detect_from_us is not null
  union all by name select job_id, last_step_us as at_us from walls where last_step_us is not null
  union all by name select job_id, wall_end_us as at_us from walls where wall_end_us is not null
),
moments as (
  -- Sorted once: from here on each moment of a job follows on the one before it.
  select job_id, at_us, max(ordinal) as ordinal, coalesce(sum(upkeep), 0) as upkeep,
    coalesce(sum(pause), 0) as pause, coalesce(sum(phase), 0) as phase,
    coalesce(sum(held), 0) as held
  from edges group by job_id, at_us
  order by job_id, at_us
),
swept as (
  -- What begins in a job ends in it, so each sum is 0 where the next job begins; its ordinals begin
  -- anew, and so are told apart by the job before they are carried on.
  select job_id, at_us,
    max((job_id::bigint << 32) + ordinal) over so_far % (1::bigint << 32) as ordinal,
    sum(upkeep) over so_far as upkeep, sum(pause) over so_far as pause,
    sum(phase) over so_far as phase, sum(held) over so_far as held
  from moments
  window so_far as (rows unbounded preceding)
),
inside as (
  select s.*, w.wall_end_us, w.last_step_us
  from swept s join walls w using (job_id)
  where s.at_us >= w.wall_start_us and s.at_us <= w.wall_end_us
),
named as (
  select i.job_id, i.at_us as start_us, f.component as state, f.cause as down_cause,
    f.span as state_span, f.next_exit_cause, f.next_span,
    case
      when i.at_us >= i.wall_end_us or i.held > 0 then 'outside'
      when f.component = 'run' then 'run'
      when f.component <> 'steady' then case when f.cause is null then 'starting' else 'down' end
      when i.upkeep > 0 then 'window'
      when i.pause > 0 then 'pause'
      when i.phase > 0 then 'phase'
      when i.at_us >= f.next_detect_from_us then 'detect'
      when i.at_us >= i.last_step_us then 'tail'
      else 'gap'
    end as kind
  from inside i
  left join following f on f.job_id = i.job_id and f.ordinal = i.ordinal
),
labelled as (
  select job_id, start_us,
    case kind when 'down' then state_span when 'detect' then next_span end as span,
    case kind
      when 'outside' then null
      when 'run' then 'uninstrumented'
      when 'starting' then 'startup'
      when 'down' then category_of(down_cause)
      when 'window' then 'maintenance'
      when 'pause' then 'checkpoint'
      when 'phase' then 'job'
      when 'detect' then category_of(next_exit_cause)
      else 'unattributed'
    end as category,
    case kind when 'outside' then null when 'starting' then state when 'down' then state
      else kind end as component,
    case kind when 'outside' then null when 'down' then down_cause
      when 'detect' then next_exit_cause else '' end as cause
  from named
  order by job_id, start_us
),
changed as (
  from labelled
  qualify (job_id, span, category, component, cause) is distinct from
    lag((job_id, span, category, component, cause)) over ()
)
select *, case when (lead(job_id) over ()) = job_id then lead(start_us) over () end as end_us
from changed
