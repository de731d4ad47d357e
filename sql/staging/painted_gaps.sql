-- Grain: a stretch in which time was not painted, as the schema describes it.
with gaps as (
  select stretch_id, gap_us from painted_stretches where gap_us > 0
  union all
  select stretch_id, gap_us from unpicked_gaps
)
select t.group_id, t.job_id, t.hour_us, greatest(t.from_us, t.hour_us) as start_us,
  sum(g.gap_us) as us
from gaps g join stretches t using (stretch_id)
group by all
