-- Grain: a record that says why a job waits, that its gang is at work, or what is gathered for it.
-- place orders what is told at one moment (see turn_place).
with seen as (select max(as_of_us) as as_of_us from refreshes)
select j.job, e.event, e.ts_us, turn_place(e.event) as place, e.record_key, e.reason, e.detail,
  e.cause, e.gpus_gathered
from events e join jobs j using (job_id), seen
where e.ts_us <= seen.as_of_us and e.event in ('job_pending', 'resources_allocated',
  'process_started', 'checkpoint_loaded', 'interruption', 'reservation_started',
  'reservation_updated', 'reservation_ended')
order by j.job, e.ts_us
