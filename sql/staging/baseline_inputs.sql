-- Grain: an attempt and, as text, the placements that its baseline is read under.
select job_id, attempt, string_agg(p::varchar, ' ' order by p.hour_us) as inputs
from baseline_groups p
group by job_id, attempt
