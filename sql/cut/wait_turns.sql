-- Grain: as published, of what had been told.
from published.wait_turns where ts_us <= getvariable('until_us')
