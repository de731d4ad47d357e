-- Grain: a boundary of an instrumented job and the state from then on: component is launch, load,
-- first_step, requeue, or steady; cause is that of a job that is down, else null (starting).
-- span numbers the restart it belongs to; exit_* say how the steady state before it ended.
with numbered as (
  select b.*, p.detect_from_us, p.exit_cause,
    count(*) filter (b.kind = 'first_step') over (
      partition by b.job_id order by b.ordinal rows between unbounded preceding and 1 preceding
    )::integer as recoveries,
    case when b.kind = 'interruption' then b.cause
      when b.kind <> 'first_step' then p.exit_cause end as own_cause
  from boundaries b
  semi join attempts a on a.job_id = b.job_id
  left join progress_ends p on p.job_id = b.job_id and p.ordinal = b.ordinal
),
carried as (
  select *,
    last_value(own_cause ignore nulls) over so_far as down_cause,
    bool_or(kind = 'interruption') over (
      partition by job_id, recoveries order by ordinal rows unbounded preceding
    ) as interrupted
  from numbered
  window so_far as (partition by job_id order by ordinal rows unbounded preceding)
)
select job_id, ordinal, at_us, kind, attempt, record_key, recoveries, detect_from_us, exit_cause,
  case kind
    when 'interruption' then 'requeue'
    when 'process_started' then 'load'
    when 'checkpoint_loaded' then 'first_step'
    when 'first_step' then 'steady'
    else 'launch'
  end as component,
  down_cause as cause,
  case when interrupted and kind <> 'first_step' then recoveries end as span
from carried
