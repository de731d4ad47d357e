-- Grain: a job at work of which it can be told: the lower median of the times between completed
-- checkpoints within its attempts.
with gaps as (
  select job_id, ts_us - lag(ts_us) over (partition by job_id, attempt order by ts_us) as gap_us
  from seen_events where event = 'checkpoint_completed'
),
sorted as (
  select job_id, list_sort(list(gap_us)) as gaps_us from gaps where gap_us is not null
  group by job_id
)
select job_id, gaps_us[(len(gaps_us) + 1) // 2] as measured_interval_us from sorted
