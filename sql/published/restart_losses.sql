-- Grain: (restart, hour, category, component, cause): what a restart cost, where the ledger has it.
-- restart is the job and when it was detected; node is the one that its interruption named.
with seen as (select max(as_of_us) as as_of_us from refreshes),
stops as (
  select e.job_id, e.attempt, e.ts_us, e.node from events e, seen
  where e.event = 'interruption' and e.ts_us <= seen.as_of_us
),
spans as (
  select r.job_id, r.detected_us, l.span
  from restarts r
  asof join (select job_id, span, start_us from labels where span is not null) l
    on l.job_id = r.job_id and l.start_us <= r.detected_us
),
-- The attempt that resumed before an attempt's last step, and the first interruption between them.
resumed as (
  select a.job_id, a.attempt, min(b.attempt) as by_attempt
  from attempt_facts a
  join attempt_facts b on b.job_id = a.job_id and b.attempt > a.attempt and b.min_step - 1 < a.max_step
  group by a.job_id, a.attempt
),
thrown_back as (
  select r.job_id, r.attempt, min(s.ts_us) as ts_us
  from resumed r
  join stops s on s.job_id = r.job_id and s.attempt >= r.attempt and s.attempt < r.by_attempt
  group by r.job_id, r.attempt
),
lost_to as (
  select t.job_id, t.attempt, r.detected_us
  from thrown_back t asof join restarts r on r.job_id = t.job_id and r.detected_us <= t.ts_us
),
parts as (
  select u.job_id, s.detected_us, u.hour_us, u.category, u.component, u.cause, u.us
  from unpainted u join spans s using (job_id, span)
  union all
  select p.job_id, l.detected_us, p.hour_us, p.rework_category, 'rework', p.rework_cause, p.rework_us
  from painted_sums p join lost_to l using (job_id, attempt) where p.rework_us > 0
  union all
  select p.job_id, l.detected_us, p.hour_us, p.category, p.component, p.cause, p.end_us - p.start_us
  from painted_pieces p
  join painted_sums s using (group_id)
  join lost_to l on l.job_id = s.job_id and l.attempt = s.attempt
  where p.part = 'step' and p.component = 'rework'
),
named as (
  select r.job_id, r.detected_us, arg_min(s.node, s.ts_us) as node
  from restarts r
  join stops s on s.job_id = r.job_id and s.ts_us >= r.detected_us
    and s.ts_us < coalesce(r.recovered_us, 9223372036854775807)
  where s.node is not null
  group by r.job_id, r.detected_us
)
select j.job, p.detected_us, any_value(n.node) as node, p.hour_us, p.category, p.component, p.cause,
  sum(p.us)::bigint as us
from parts p
join jobs j using (job_id)
left join named n using (job_id, detected_us)
group by j.job, p.detected_us, p.hour_us, p.category, p.component, p.cause
having sum(p.us) > 0
order by all
