-- Grain: a moment of a series that was pulled from Prometheus (see the schema).
select query, labels, ts_us, value from samples join series using (series_id)
order by query, labels, ts_us
