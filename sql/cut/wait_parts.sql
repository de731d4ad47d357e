-- Grain: (job, part, reason) of a queue wait, summed from its turns.
select job, part, reason, sum(end_us - start_us)::bigint as us from wait_story group by all
