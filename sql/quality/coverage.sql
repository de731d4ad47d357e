-- Grain: a job with wall-clock in the newest $window_us of the data. whole: its GPU-time there in µs;
-- part: the same where the job is instrumented, else 0.
select l.job as name,
  coalesce(sum(l.us::hugeint * coalesce(j.gpus, 1)) filter (j.instrumented), 0) as part,
  sum(l.us::hugeint * coalesce(j.gpus, 1)) as whole
from ledger l join jobs j using (job), meta m
where l.hour_us + 3600000000 > m.as_of_us - $window_us
group by l.job
