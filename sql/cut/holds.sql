-- Grain: as published: gangs that had been held, those still held up to the moment.
select * replace (least(end_us, getvariable('until_us')) as end_us)
from published.holds where start_us < getvariable('until_us')
