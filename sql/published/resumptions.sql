-- Grain: an attempt of a job that took up its work: the step after which it did, and the newest
-- complete checkpoint that there was then (null: none). That is the last one completed since the
-- attempt before took up its own, or else where that one began: what it passed over counts once.
-- detected_us: of the restart that it ended. lost_us: the work of earlier attempts that it does again; null where it is not known (yet).
with seen as (select max(as_of_us) as as_of_us from refreshes),
loaded as (
  select e.job_id, e.attempt, min(e.ts_us) as ts_us, arg_max(e.step, (e.ts_us, e.record_key)) as step,
    bool_or(coalesce(e.deliberate, false)) as deliberate
  from events e, seen
  where e.event = 'checkpoint_loaded' and e.ts_us <= seen.as_of_us
  group by e.job_id, e.attempt
),
begun as (
  select job_id, attempt, coalesce(l.step, f.min_step - 1) as step,
    coalesce(l.ts_us, f.first_ts_us) as at_us, coalesce(l.deliberate, false) as deliberate,
    f.steps is not null as has_steps
  from loaded l full join attempt_facts f using (job_id, attempt)
),
ordered as (
  select *, lag(step) over attempts as before_step, lag(at_us) over attempts as before_us
  from begun window attempts as (partition by job_id order by attempt)
),
saved as (
  select e.job_id, e.ts_us, max(e.step) as step from events e, seen
  where e.event = 'checkpoint_completed' and e.ts_us <= seen.as_of_us group by e.job_id, e.ts_us
),
known as (
  select o.*, case when s.ts_us > o.before_us then s.step else o.before_step end as newest_step,
  from ordered o asof left join saved s on s.job_id = o.job_id and s.ts_us <= o.at_us
  where o.before_us is not null
),
thrown_back as (
  select a.job_id, a.attempt, min(b.attempt) as by_attempt
  from attempt_facts a
  join attempt_facts b on b.job_id = a.job_id and b.attempt > a.attempt and b.min_step - 1 < a.max_step
  group by a.job_id, a.attempt
),
again as (
  select job_id, attempt, rework_us as us from painted_sums where rework_us > 0
  union all
  select p.job_id, s.attempt, p.end_us - p.start_us
  from painted_pieces p join painted_sums s using (group_id)
  where p.part = 'step' and p.component = 'rework'
),
lost as (
  select t.job_id, t.by_attempt as attempt, sum(a.us)::bigint as us
  from thrown_back t join again a using (job_id, attempt) group by t.job_id, t.by_attempt
)
select j.job, k.attempt, k.at_us, k.step, k.newest_step, k.deliberate,
  case when coalesce(r.recovered_us >= k.at_us, true) then r.detected_us end as detected_us,
  case when k.has_steps then coalesce(l.us, 0) end as lost_us
from known k
join jobs j using (job_id)
left join lost l using (job_id, attempt)
asof left join restarts r on r.job_id = k.job_id and r.detected_us <= k.at_us
order by j.job, k.attempt
