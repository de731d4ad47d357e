-- A row unless the numbers of each attempt's steps ascend with time: in every hour, from one of its
-- hours to the next, and with no hour reopened in which no step arrives. Where they do, no two records
-- can have one key (job, attempt, step).
select 1 from placed where not ascends
union all
select 1 from (
  select min_step <= lag(max_step) over (partition by job_id, attempt order by hour_us) as descends
  from fresh
) where descends
union all
select 1 from reopened anti join rewritten using (job_id, hour_us)
limit 1
