-- Grain: a step group of a job at work: where its steps lie (see contexts in the schema).
-- from_us and until_us bound nothing here (see painted_steps).
with following as (
  select g.*, w.wall_end_us, w.wall_start_us,
    max(g.last_ts_us) over (
      partition by g.job_id order by g.hour_us range between unbounded preceding and 1 preceding
    ) as before_us
  from seen_groups g join walls w using (job_id)
),
held as (
  select f.group_id,
    list({start_us: s.start_us, end_us: s.end_us} order by s.start_us) as suspensions
  from following f
  join suspensions s on s.job_id = f.job_id and s.start_us < f.hour_us + 3600000000
    and (s.end_us > f.before_us or f.before_us is null)
  group by f.group_id
)
select f.group_id, f.job_id, f.hour_us, f.attempt, f.before_us,
  case when f.before_us is null then f.wall_start_us end as wall_start_us,
  case when a.first_ts_us = f.first_ts_us then a.first_ts_us end as first_ts_us,
  least(f.wall_end_us, f.hour_us + 3600000000) as paint_until_us,
  f.seen_until_us, h.suspensions,
  f.seen_until_us is null and h.suspensions is null and f.last_ts_us <= f.wall_end_us as is_plain,
  0::bigint as from_us, 9223372036854775807 as until_us
from following f
join attempts a using (job_id, attempt)
left join held h using (group_id)
