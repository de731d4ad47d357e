-- A row if any two records have one key (job, attempt, step).
select 1 from (
  select job_id, attempt, step from merged group by all having count(*) > 1 limit 1
)
