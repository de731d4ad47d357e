-- Grain: a stretch with time that its unpicked steps did not paint before them, as far as it lies in
-- the stretch. Only the last gap can reach beyond it: then last_gap_end_us does.
select t.stretch_id, sum(least(s.before_us + s.gap_us, t.until_us) - s.before_us) as gap_us,
  max(s.before_us + s.gap_us) as last_gap_end_us
from steps s
anti join picked_steps p using (group_id, step)
join stretches t on t.group_id = s.group_id
  and s.before_us >= t.from_us and s.before_us < t.until_us
where s.gap_us > 0
group by t.stretch_id
