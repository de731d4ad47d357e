-- Grain: a stretch in which time was not painted, as the schema describes it.
select t.group_id, t.job_id, t.hour_us, greatest(t.from_us, t.hour_us) as start_us, p.gap_us as us
from painted_stretches p join stretches t using (stretch_id)
where p.gap_us > 0
