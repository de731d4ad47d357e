-- A row if a name may have been a number, a truth value, a list or an object that the bulk reader took
-- for text: such a file is read line by line, where they can be told apart. (A number begins below
-- ':'.)
select 1 from (
  select distinct job as name from judged_steps
  where job < ':' or job in ('true', 'false') or job[1] in ('[', '{')
  union
  select distinct straggler_node from judged_steps
  where straggler_node < ':' or straggler_node in ('true', 'false')
    or straggler_node[1] in ('[', '{')
)
where regexp_full_match(name, '-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|[\[{].*', 's')
  and not regexp_full_match(name, '-?\d+')
limit 1
