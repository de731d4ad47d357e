-- Grain: as published, of moments up to it.
from published.samples where ts_us <= getvariable('until_us')
