-- Grain: as published, of attempts that had taken up their work; what they did again as known today.
from published.resumptions where at_us <= getvariable('until_us')
