-- Grain: an attempt that has steps. Steps numbered above superseded_above were lost to a later
-- attempt, and rework_cause says why.
with stepped as (
  select job_id, attempt, min(first_ts_us) as first_ts_us, max(last_ts_us) as last_ts_us,
    min(min_step) as min_step, max(max_step) as max_step, sum(steps)::bigint as steps
  from seen_groups
  group by job_id, attempt
),
resumed as (
  -- resume(b) = lowest step of b, less one; what a later attempt repeats was lost.
  select *, min(min_step - 1) over (
      partition by job_id order by attempt rows between 1 following and unbounded following
    ) as superseded_above
  from stepped
),
losing as (
  select r.job_id, r.attempt, min(b.attempt) as taken_over_by
  from resumed r
  join stepped b on b.job_id = r.job_id and b.attempt > r.attempt and b.min_step - 1 < r.max_step
  where r.superseded_above < r.max_step
  group by r.job_id, r.attempt
),
caused as (
  select l.job_id, l.attempt,
    arg_min(i.cause, (i.ts_us, i.attempt, i.cause)) as cause,
    arg_min(i.record_key, (i.ts_us, i.attempt, i.cause)) as lost_to
  from losing l
  join seen_events i on i.job_id = l.job_id and i.event = 'interruption'
    and i.attempt >= l.attempt and i.attempt < l.taken_over_by
  group by l.job_id, l.attempt
),
chosen as (
  select distinct l.job_id, l.attempt from losing l
  join seen_events e on e.job_id = l.job_id and e.event = 'checkpoint_loaded'
    and e.attempt = l.taken_over_by and e.deliberate
)
select r.*,
  case
    when l.attempt is null then null
    when d.attempt is not null then 'rollback'
    else coalesce(c.cause, 'unknown')
  end as rework_cause,
  case when d.attempt is null then c.lost_to end as lost_to
from resumed r
left join losing l using (job_id, attempt)
left join caused c using (job_id, attempt)
left join chosen d using (job_id, attempt)
