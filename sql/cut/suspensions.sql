-- Grain: as published: suspensions that had begun; end_us is null where one went on.
select * replace (case when end_us <= getvariable('until_us') then end_us end as end_us)
from published.suspensions where start_us <= getvariable('until_us')
