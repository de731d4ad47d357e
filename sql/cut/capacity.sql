-- Grain: as published, of hours that had ended.
from published.capacity where hour_us < getvariable('until_us')
