-- Grain: a step group whose steps must be looked at one by one before labels are known: those in
-- which a boundary falls, and those after a pause or phase whose end was never recorded.
with hours as (
  select job_id, hour_us, max(last_ts_us) as last_ts_us from seen_groups group by job_id, hour_us
),
open_ended as (select distinct job_id, start_us from intervals where end_us is null),
next_hours as (
  -- A painted beginning at or after t is that of one of the two steps that end at or after t.
  select o.job_id, h.hour_us
  from open_ended o join hours h on h.job_id = o.job_id and h.last_ts_us >= o.start_us
  qualify row_number() over (partition by o.job_id, o.start_us order by h.hour_us) <= 2
)
select g.group_id
from seen_groups g join exits e on e.job_id = g.job_id
  and g.first_ts_us <= e.at_us and g.last_ts_us >= e.at_us
union
select g.group_id from seen_groups g semi join next_hours n using (job_id, hour_us)
