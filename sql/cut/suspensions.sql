-- Grain: as published: suspensions that had begun, those that went on up to the moment.
select * replace (least(end_us, getvariable('until_us')) as end_us)
from published.suspensions where start_us < getvariable('until_us')
