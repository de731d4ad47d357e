-- A row if a name may have been a number, one that is none, a truth value, a list or an object, which
-- the bulk reader took for text: such a file is read line by line, where they can be told apart. (A
-- number begins below ':'.)
select 1 from (
  select distinct job as name from judged_steps
  where job < ':' or job[1] in ('[', '{')
    or strlen(job) <= 8 and lower(job) in ('true', 'false', 'nan', 'inf', 'infinity')
  union
  select distinct straggler_node from judged_steps
  where straggler_node < ':' or straggler_node[1] in ('[', '{')
    or strlen(straggler_node) <= 8
      and lower(straggler_node) in ('true', 'false', 'nan', 'inf', 'infinity')
)
where regexp_full_match(
    name, '(?is)-?(\d+(\.\d+)?(e[+-]?\d+)?|nan|inf(inity)?)|true|false|[\[{].*'
  )
  and not regexp_full_match(name, '-?\d+')
limit 1
