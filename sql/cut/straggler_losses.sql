-- Grain: as published, of hours that had ended.
from published.straggler_losses where hour_us < getvariable('until_us')
