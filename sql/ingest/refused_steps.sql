-- Grain: an incoming step of a folded hour, or that may repeat a step of one; with the reason.
select i.rowid as incoming_id, i.* replace (coalesce(i.line, i.rowid + 1) as line), case
    when f.is_closed then 'folded: the job ended before the retention of steps'
    when i.ts_us <= f.folded_until_us then 'folded: the hour is older than the retention of steps'
    else 'folded: a step with this number may lie in an hour older than the retention of steps'
  end as reason
from incoming i join jobs using (job) join folds f using (job_id)
where f.is_closed or i.ts_us <= f.folded_until_us
  or exists (
    from step_groups g where g.job_id = f.job_id and g.attempt = i.attempt
      and g.hour_us < f.folded_until_us and i.step between g.min_step and g.max_step
  )
