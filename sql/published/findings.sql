-- Grain: something in a job's records that deserves a look: what (finding), how often, and in words.
-- check_rules holds the policy's clock_slack_us, tier_names its tier of each name that jobs gave.
with seen as (select max(as_of_us) as as_of_us from refreshes),
loaded as (
  select job_id, attempt, arg_max(step, (ts_us, record_key)) as step
  from events, seen where event = 'checkpoint_loaded' and ts_us <= as_of_us group by job_id, attempt
),
stopped as (
  select job_id, attempt, min(ts_us) as ts_us from events, seen
  where event = 'interruption' and ts_us <= as_of_us
  group by job_id, attempt
),
allocated as (
  select job_id, attempt, count(distinct ts_us) as allocations from events, seen
  where event = 'resources_allocated' and ts_us <= as_of_us
  group by job_id, attempt
),
painted as (
  select job_id, sum(clipped_steps) as clipped, sum(over_reported_steps) as over_reported
  from painted_sums group by job_id
),
found as (
  select job_id, null::integer as attempt, 'clipped overlaps' as finding, clipped as count,
    'steps that begin more than 1 ms before the step before them ends' as detail
  from painted where clipped > 0
  union all
  select job_id, null, 'over-reported components', over_reported,
    'steps whose data_wait, straggler, checkpoint and overhead exceed their length'
  from painted where over_reported > 0
  union all
  select job_id, attempt, 'steps after an interruption', 1,
    'steps go on for ' || round((a.last_ts_us - s.ts_us) / 1e6, 3)
      || ' s after the interruption of their attempt'
  from attempt_facts a join stopped s using (job_id, attempt) cross join check_rules c
  where a.last_ts_us > s.ts_us + c.clock_slack_us
  union all
  select job_id, attempt, 'step numbers jump', max_step - min_step + 1 - steps,
    'step numbers missing between ' || min_step || ' and ' || max_step
  from attempt_facts where max_step - min_step + 1 > steps
  union all
  select job_id, attempt, 'resume contradicts checkpoint_loaded', 1,
    'the first step is ' || a.min_step || ', the checkpoint loaded was of step ' || l.step
  from attempt_facts a join loaded l using (job_id, attempt)
  where l.step <> a.min_step - 1 and not (l.step = 0 and a.min_step = 0)
  union all
  select job_id, attempt, 'attempt allocated twice', allocations,
    'two runs have one attempt number: scheduler records exported in pieces? Export all runs at once'
  from allocated where allocations > 1
  union all
  select job_id, null, 'started before it was submitted', 1,
    'its queue wait is negative: clocks differ, or the submission was recorded late'
  from queue_waits where wait_us < 0
  union all
  select job_id, null, 'silent', 1,
    'nothing was heard of it for longer than the policy allows; its end is its last record'
  from job_facts where silent
  union all
  select job_id, null, 'GPUs unknown', 1, 'no record names its GPUs: it weighs as one'
  from job_facts where gpus is null
  union all
  select job_id, null, 'tier not in the policy', 1,
    'no objective holds for its wait: the policy has no tier or alias ' || f.tier || ' (tiers:)'
  from job_facts f join tier_names t on t.given = f.tier where t.rank is null
  union all
  select job_id, null, 'not instrumented', 1, 'it has no step records: its goodput is unknown'
  from job_facts where not instrumented and wall_start_us is not null
)
select j.job, f.* exclude (job_id) from found f join jobs j using (job_id)
order by f.finding, j.job, f.attempt
