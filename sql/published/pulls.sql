-- Grain: a chunk of a query that was pulled from Prometheus: what was found, and what was no number.
select * from pulls order by query, from_us
