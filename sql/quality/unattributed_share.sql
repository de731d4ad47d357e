-- Grain: a job with instrumented wall-clock in the newest $window_us of the data. whole: its GPU-time
-- there in µs; part: what of it nothing explains.
select l.job as name,
  coalesce(sum(l.us::hugeint * coalesce(j.gpus, 1)) filter (l.category = 'unattributed'), 0) as part,
  sum(l.us::hugeint * coalesce(j.gpus, 1)) as whole
from ledger l join jobs j using (job), meta m
where l.hour_us + 3600000000 > m.as_of_us - $window_us and l.category <> 'uninstrumented'
group by l.job
