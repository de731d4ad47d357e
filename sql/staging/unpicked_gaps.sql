-- Grain: a stretch with time that its unpicked steps did not paint before them, as far as it lies in
-- the stretch. Only the last gap can reach beyond it: then last_gap_end_us does.
select t.stretch_id, sum(least(s.before_us + s.gap_us, t.until_us) - s.before_us) as gap_us,
  max(s.before_us + s.gap_us) as last_gap_end_us
from steps s
join stretches t on t.group_id = s.group_id
  and s.before_us >= t.from_us and s.before_us < t.until_us
where s.gap_us > 0
  and not is_picked(t.is_plain, s.compute_us, s.ts_us = t.first_ts_us, s.step, t.superseded_above,
    t.baseline_us)
group by t.stretch_id
