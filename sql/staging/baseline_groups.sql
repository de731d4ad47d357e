-- Grain: a step group that holds one of the first 102 steps of its attempt.
with counted as (
  select group_id, job_id, attempt, hour_us, sum(steps) over (
      partition by job_id, attempt order by hour_us rows between unbounded preceding and 1 preceding
    ) as steps_before
  from seen_groups
)
select group_id, job_id, attempt from counted where coalesce(steps_before, 0) < 102
