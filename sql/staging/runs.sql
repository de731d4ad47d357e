-- Grain: a boundary of a job without steps and the state from then on; columns as in states, with
-- the component run. A run lasts until an interruption, or an allocation of another attempt.
with launched as (
  select distinct job_id, attempt from seen_events where event = 'process_started'
),
last_process as (
  select job_id, max(ordinal) as ordinal from boundaries where kind = 'process_started' group by all
),
ordered as (
  select b.*, b.kind = 'process_started' or (
      b.kind = 'resources_allocated' and l.attempt is null
    ) as begins_run,
    -- Recovery is the next process_started, or else the next allocation.
    b.kind = 'process_started' or (
      b.kind = 'resources_allocated' and b.ordinal > coalesce(p.ordinal, 0)
    ) as recovers
  from boundaries b
  anti join attempts a on a.job_id = b.job_id
  left join launched l on l.job_id = b.job_id and l.attempt = b.attempt
  left join last_process p on p.job_id = b.job_id
),
blocks as (
  select *, count(*) filter (begins_run or kind = 'interruption') over so_far as block,
    count(*) filter (recovers) over (
      partition by job_id order by ordinal rows between unbounded preceding and 1 preceding
    )::integer as recoveries
  from ordered
  window so_far as (partition by job_id order by ordinal rows unbounded preceding)
),
running as (
  select *, first_value(attempt) over block_so_far as run_attempt,
    first_value(begins_run) over block_so_far as in_run
  from blocks
  window block_so_far as (partition by job_id, block order by ordinal rows unbounded preceding)
),
ended as (
  select *, bool_or(in_run and kind = 'resources_allocated' and attempt <> run_attempt) over (
      partition by job_id, block order by ordinal rows unbounded preceding
    ) as run_ended
  from running
),
kept as (
  -- Inside a run every other boundary is passed over.
  select *, in_run and not run_ended as runs,
    lag(in_run and not run_ended, 1, false) over (partition by job_id order by ordinal)
      as ran_before
  from ended
),
caused as (
  select *, case when kind = 'interruption' then cause
      when ran_before and not runs then 'unknown' end as own_cause
  from kept
)
select job_id, ordinal, at_us, kind, attempt, record_key, recoveries, recovers,
  null::bigint as detect_from_us, null::varchar as exit_cause,
  case
    when runs then 'run'
    when kind = 'interruption' then 'requeue'
    when kind = 'process_started' then 'load'
    when kind = 'checkpoint_loaded' then 'first_step'
    else 'launch'
  end as component,
  last_value(own_cause ignore nulls) over (
    partition by job_id order by ordinal rows unbounded preceding
  ) as cause,
  case when bool_or(kind = 'interruption') over (
      partition by job_id, recoveries order by ordinal rows unbounded preceding
    ) and not recovers then recoveries end as span
from caused
