-- Rules that several models share, each in one place.

-- The hour that holds the last microsecond before a moment: that of a step which ends then.
create or replace temp macro hour_of(end_us) as (end_us - 1) // 3600000000 * 3600000000;

-- Where a step begins. Stamps are rounded: less than 1 ms after the end before it is at that end.
create or replace temp macro begins_us(own_begin_us, before_us) as
  case when own_begin_us < before_us + 1000 then before_us else own_begin_us end;

create or replace temp macro is_clipped(own_begin_us, before_us) as
  coalesce(own_begin_us < before_us - 1000, false);

-- The cluster of records that name none. sql/facts/scoped_jobs.sql has the same rule: readers of a
-- mart have no macros.
create or replace temp macro cluster_named(cluster) as coalesce(cluster, 'default');

-- See pipelines/records.py for the same rule.
create or replace temp macro is_storable_text(given) as
  given <> '' and length(given) <= 4096 and not contains(given, chr(0));

create or replace temp macro category_of(cause) as case
  when cause in ('preemption', 'maintenance') then cause
  when cause in ('job_error', 'suspended', 'rollback') then 'job'
  else 'restart'
end;

-- A stored step as the canonical record that it came from, to be set aside and delivered again.
create or replace temp macro step_record(
  job, attempt, step, ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us,
  straggler_node
) as to_json({
  job: job, attempt: attempt, step: step,
  ts: strftime(make_timestamp(ts_us), '%Y-%m-%dT%H:%M:%S.%fZ'),
  duration_s: duration_us / 1e6, data_wait_s: data_wait_us / 1e6,
  straggler_s: straggler_us / 1e6, checkpoint_s: checkpoint_us / 1e6,
  overhead_s: overhead_us / 1e6, straggler_node: straggler_node
})::varchar;

-- The nodes that a text names: one, or a set such as `8,13,26-27` or `n[01-03,7]`. A range that runs
-- backwards, or over more than 10,000 numbers, is a name like any other.
create or replace temp macro range_of(numbers) as
  list_transform(string_split(numbers, '-'), lambda bound: try_cast(bound as bigint));
create or replace temp macro padded(number, width) as
  lpad(number::varchar, greatest(width, length(number::varchar))::integer, '0');
create or replace temp macro numbers_in(inside) as flatten(list_transform(
  string_split(inside, ','), lambda numbers: list_transform(
    range(range_of(numbers)[1], range_of(numbers)[-1] + 1),
    lambda number: padded(number, length(string_split(numbers, '-')[1]))
  )
));
create or replace temp macro is_node_range(inside) as
  regexp_full_match(inside, '[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*')
  and len(list_filter(string_split(inside, ','), lambda numbers:
    range_of(numbers)[-1] - range_of(numbers)[1] not between 0 and 9999)) = 0;
create or replace temp macro expanded_node(item) as case
  when contains(item, '-') and is_node_range(item) then numbers_in(item)
  when regexp_full_match(item, '[^\[\]]*\[[^\[\]]+\][^\[\]]*')
      and is_node_range(regexp_extract(item, '\[(.+)\]', 1))
    then list_transform(
      numbers_in(regexp_extract(item, '\[(.+)\]', 1)),
      lambda number: regexp_extract(item, '^[^\[]*') || number || regexp_extract(item, '[^\]]*$')
    )
  else [item]
end;
create or replace temp macro node_names(given) as case
  when not regexp_matches(given, '[,\[-]') or regexp_full_match(given, '[,\[\]]*') then [given]
  else flatten(list_transform(
    list_transform(
      regexp_extract_all(given, '([^,\[\]]|\[[^\]]*\])+'), lambda item: trim(item)
    ),
    lambda item: expanded_node(item)
  ))
end;
create or replace temp macro all_node_names(given) as
  list_sort(list_distinct(flatten(list_transform(given, lambda item: node_names(item)))));

-- A length of time in words, as pages have it, in its two largest units: 4.0 s, 3 min, 5 h 7 min.
create or replace temp macro in_units(whole, unit, rest, small) as
  whole || ' ' || unit || case when rest > 0 then ' ' || rest || ' ' || small else '' end;
create or replace temp macro said_s(s) as case
  when s >= 86400 then in_units(s // 86400, 'd', s % 86400 // 3600, 'h')
  when s >= 3600 then in_units(s // 3600, 'h', s % 3600 // 60, 'min')
  when s >= 60 then in_units(s // 60, 'min', s % 60, 's')
  else s || ' s'
end;
create or replace temp macro said_us(us) as case
  when us = 0 then '0 s'
  when us < 1000 then us || ' µs'
  when us < 1000000 then us // 1000 || ' ms'
  when us < 10000000 then printf('%.1f s', us / 1e6)
  else said_s((us + 500000) // 1000000)
end;

-- The order in which the turns of a wait are taken that are told at one moment: a job is interrupted,
-- then told why it waits, and then it waits no more.
create or replace temp macro turn_place(event) as list_position(
  ['job_submitted', 'interruption', 'job_pending', 'resources_allocated', 'process_started',
    'checkpoint_loaded'], event
);
