-- Grain: an exit from the steady state (see exits): progress ended at detect_from_us, and from
-- there to the boundary what would be gap is detection, for exit_cause.
with latest as (
  -- First steps that complete at that very moment are passed over.
  select e.job_id, e.ordinal, e.cause, e.at_us,
    greatest(any_value(e.known_last_us), max(s.ts_us)) as last_us
  from exits e
  left join probe_steps s on s.job_id = e.job_id
    and (s.ts_us < e.at_us or (s.ts_us = e.at_us and not s.is_first))
  group by e.job_id, e.ordinal, e.cause, e.at_us
),
ended as (
  select l.job_id, l.ordinal, l.cause, l.at_us,
    case when l.last_us is null then l.at_us
      else least(l.last_us, any_value(w.wall_end_us), min(s.start_us)) end as detect_from_us
  from latest l
  join walls w using (job_id)
  left join suspensions s on s.job_id = l.job_id
    and s.start_us <= l.last_us and l.last_us < s.end_us
  group by l.job_id, l.ordinal, l.cause, l.at_us, l.last_us
)
select e.job_id, e.ordinal, e.detect_from_us, coalesce(
    e.cause,
    case when exists (
      from seen_events s where s.event = 'job_suspended' and s.job_id = e.job_id
        and s.ts_us between e.detect_from_us and e.at_us
    ) then 'suspended' else 'unknown' end
  ) as exit_cause
from ended e
