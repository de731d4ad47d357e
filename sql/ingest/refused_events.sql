-- Grain: an incoming lifecycle record, not stored before, that would change a folded hour; with the
-- reason. A maintenance window may change an hour of any job.
select i.record_key, case
    when f.is_closed then 'folded: the job ended before the retention of steps'
    else 'folded: older than the retention of steps' end as reason
from incoming_events i join jobs j on j.job = i.job join folds f on f.job_id = j.job_id
where (f.is_closed or i.ts_us < f.folded_until_us)
  and i.record_key not in (select record_key from events)
union
select i.record_key, 'folded: older than the retention of steps'
from incoming_events i
where i.event in ('maintenance_started', 'maintenance_ended')
  and i.ts_us < (select max(folded_until_us) from folds)
  and i.record_key not in (select record_key from events)
