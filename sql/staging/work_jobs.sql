-- Grain: a job that the refresh derives anew: one with new records, with records between the last
-- as_of and this one, or whose end still moves. All of them where as_of went back, the settings
-- changed, a maintenance window was recorded, or nothing was derived yet. None that is closed: what
-- was derived of it stands.
with last as (
  select coalesce(max(as_of_us), -1) as as_of_us, coalesce(max(next_event_id), 0) as next_event_id,
    coalesce(max(next_group_id), 0) as next_group_id, coalesce(max(settings), '') as settings
  from refreshes
),
everything as (
  select 1 from last, clock
  where last.as_of_us > clock.as_of_us or last.settings <> clock.settings
    or exists (
      from events e
      where e.event in ('maintenance_started', 'maintenance_ended')
        and (e.event_id >= last.next_event_id or e.ts_us > last.as_of_us)
    )
)
select distinct job_id from (
  select e.job_id from events e, last
  where e.job_id is not null
    and (e.event_id >= last.next_event_id or e.ts_us > last.as_of_us)
  union all
  select g.job_id from step_groups g, last
  where g.group_id >= last.next_group_id or g.last_ts_us > last.as_of_us
  union all
  select job_id from job_facts where open
  union all
  select job_id from jobs where exists (from everything)
)
where job_id not in (select job_id from folds where is_closed)
