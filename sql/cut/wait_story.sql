-- Grain: as published: turns that had begun, the last one of a wait that went on up to the moment.
select * replace (least(end_us, getvariable('until_us')) as end_us)
from published.wait_story where start_us < getvariable('until_us')
