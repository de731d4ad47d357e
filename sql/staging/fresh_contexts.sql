-- Grain: a step group of a job at work with all that its painting depends on (see the schema).
-- Compute longer than 2 b is slow, b being the job's expected step or the attempt's median; there
-- is no limit with fewer than 20 steps to measure (and no expectation), with b = 0, or where the
-- attempt's steps differ by nature: their 90th percentile exceeds 1.5 b.
with based as (
  select b.job_id, b.attempt, b.p90_us,
    coalesce(nullif(w.expected_step_us, 0),
      case when b.measured_steps >= 20 then b.median_us end) as base_us
  from baselines b join walls w using (job_id)
),
limits as (
  select job_id, attempt, base_us as baseline_us from based
  where base_us > 0 and coalesce(2 * p90_us <= 3 * base_us, true)
),
cut_hours as (
  select job_id, start_us // 3600000000 * 3600000000 as hour_us,
    list(start_us order by start_us) as cuts
  from fresh_labels where start_us % 3600000000 <> 0
  group by all
),
losing as (
  select g.group_id, a.superseded_above, category_of(a.rework_cause) as rework_category,
    a.rework_cause
  from seen_groups g join attempts a using (job_id, attempt)
  where g.max_step > a.superseded_above
)
select p.* exclude (from_us, until_us), l.baseline_us, x.superseded_above, x.rework_category,
  x.rework_cause, c.cuts
from placements p
left join limits l on l.job_id = p.job_id and l.attempt = p.attempt
left join cut_hours c on c.job_id = p.job_id and c.hour_us = p.hour_us
left join losing x on x.group_id = p.group_id
