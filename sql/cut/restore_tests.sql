-- Grain: as published, of tests that had ended.
from published.restore_tests where ts_us <= getvariable('until_us')
