-- Grain: as published, of hours that had ended. A step belongs to the hour in which it ended.
from published.step_hours where hour_us < getvariable('until_us')
