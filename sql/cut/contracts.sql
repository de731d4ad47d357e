-- Grain: as published: occasions that had come, judged as they are today.
from published.contracts where at_us is null or at_us <= getvariable('until_us')
