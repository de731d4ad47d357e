-- Grain: a file that was ingested.
select * exclude (file_id, fingerprint) from files order by file_id
