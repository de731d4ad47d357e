-- Grain: a job last heard of in the newest $window_us of the data. part: 1 where it went silent.
select j.job as name, j.silent::integer as part, 1 as whole
from jobs j, meta m
where j.last_record_us > m.as_of_us - $window_us
