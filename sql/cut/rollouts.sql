-- Grain: a change that had been let through; ended_us is null while it went on.
select * replace (case when ended_us <= getvariable('until_us') then ended_us end as ended_us)
from published.rollouts where started_us <= getvariable('until_us')
