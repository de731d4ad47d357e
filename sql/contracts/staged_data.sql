-- Data is staged before the process starts: each attempt whose process started.
with seen as (select max(as_of_us) as as_of_us from refreshes),
told as (
  select e.job_id, e.attempt, min(e.ts_us) filter (e.event = 'process_started') as started_us,
    min(e.ts_us) filter (e.event = 'data_staged') as staged_us
  from events e, seen
  where e.event in ('process_started', 'data_staged') and e.ts_us <= seen.as_of_us
  group by e.job_id, e.attempt
)
select j.job, t.started_us as at_us, t.staged_us <= t.started_us as kept,
  'attempt ' || t.attempt || case
    when t.staged_us is null then ': no record says when its data was staged'
    when t.staged_us <= t.started_us
      then ': data was there ' || said_us(t.started_us - t.staged_us) || ' before the process'
    else ': data was there ' || said_us(t.staged_us - t.started_us) || ' after the process started'
  end as detail
from told t join jobs j using (job_id)
where t.started_us is not null
