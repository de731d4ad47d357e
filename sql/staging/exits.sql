-- Grain: a boundary that comes in the steady state (the boundary before it is a first step), with
-- the latest step known from groups alone to have ended before it.
with ordered as (
  select *, lag(kind) over (partition by job_id order by ordinal) as kind_before from boundaries
)
select o.job_id, o.ordinal, o.kind, o.cause, o.at_us, g.last_ts_us as known_last_us
from ordered o
asof left join (
  select job_id, last_ts_us from seen_groups
) g on g.job_id = o.job_id and o.at_us > g.last_ts_us
where o.kind_before = 'first_step'
