-- Only a higher tier preempts: each signal. A loan of reserved GPUs is called back by the gang that
-- they are reserved for, of whatever tier it is.
with loaned as (
  select distinct p.job_id, p.attempt, p.signalled_us from preemptions p
  join mart.loans l on l.job = p.job and l.for_job = p.by_job and l.started_us <= p.signalled_us
    and coalesce(l.ended_us >= p.signalled_us, true)
),
ranked as (
  select j.job, f.tier, t.rank from job_facts f join jobs j using (job_id)
  left join tier_names t on t.given = f.tier
)
select p.job, p.signalled_us as at_us,
  case when l.job_id is not null then true else b.rank > v.rank end as kept,
  case
    when l.job_id is not null then 'called back by ' || p.by_job || ', for which the GPUs are reserved'
    when p.by_job is null then 'the signal does not say for which job'
    when b.job is null then 'it left for ' || p.by_job || ', which is not on record'
    when b.rank is null or v.rank is null
      then coalesce('the policy ranks no tier ' || case when b.rank is null then b.tier else v.tier end,
        'one of the two has no tier on record')
    else 'it (' || v.tier || ') was preempted for ' || p.by_job || ' (' || b.tier || ')'
  end as detail
from preemptions p
left join loaned l using (job_id, attempt, signalled_us)
left join ranked v on v.job = p.job
left join ranked b on b.job = p.by_job
where p.signalled_us is not null
