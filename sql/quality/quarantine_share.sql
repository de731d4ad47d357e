-- Grain: a file ingested in the $window_us before the newest ingestion. whole: the records read from
-- it; part: those that were quarantined (a stored step that gave way is one more).
with newest as (select max(ingested_at_us) as us from files)
select f.path as name, f.quarantined_records as part,
  greatest(f.read_records, f.quarantined_records) as whole
from files f, newest n
where f.ingested_at_us > n.us - $window_us
