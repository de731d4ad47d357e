-- Grain: a step record as it was read, checked. `reason` is null for a good one, else why it is
-- quarantined; the other columns are then meaningless.
-- Reads parsed_steps: job, attempt, step, ts (text) or ts_us, durations in seconds (double), steps.
-- Durations are taken to the nearest microsecond. The rule of a moment is that of metrics/moments.py.
select
  * exclude (moment_us, utc_us, ts, ts_us, steps, attempt, step, job,
    duration_s, data_wait_s, straggler_s, checkpoint_s, overhead_s),
  job,
  try_cast(attempt as integer) as attempt,
  try_cast(step as bigint) as step,
  moment_us as ts_us,
  try_cast(round(duration_s * 1e6) as bigint) as duration_us,
  coalesce(try_cast(round(data_wait_s * 1e6) as bigint), 0) as data_wait_us,
  coalesce(try_cast(round(straggler_s * 1e6) as bigint), 0) as straggler_us,
  coalesce(try_cast(round(checkpoint_s * 1e6) as bigint), 0) as checkpoint_us,
  coalesce(try_cast(round(overhead_s * 1e6) as bigint), 0) as overhead_us,
  coalesce(try_cast(steps as bigint), 1) as stands_for,
  case
    when job is null or attempt is null or step is null or duration_s is null
      or (ts is null and ts_us is null) then 'missing or unreadable field ' || concat_ws(', ',
        case when job is null then 'job' end,
        case when attempt is null then 'attempt' end,
        case when step is null then 'step' end,
        case when ts is null and ts_us is null then 'ts' end,
        case when duration_s is null then 'duration_s' end)
    when not is_storable_text(job)
      then 'bad field job: empty, or no text that can be stored'
    when not (attempt between 0 and 2147483647 and attempt = floor(attempt))
      then 'bad field attempt: out of range, or not a whole number'
    when not (step between 0 and 9007199254740991 and step = floor(step))
      then 'bad field step: out of range, or not a whole number'
    when utc_us is null and not regexp_full_match(ts,
      '\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)')
      then 'bad field ts: not an RFC 3339 timestamp with an offset'
    when moment_us is null then 'bad field ts: not a date of the calendar'
    when not (moment_us >= 946684800000000 and moment_us < 4102444800000000)
      then 'bad field ts: outside the years 2000 to 2099'
    when not (duration_s >= 0 and duration_s < 4e9)
      then 'bad field duration_s: not a possible duration'
    when moment_us - duration_s * 1e6 < 946684800000000
      then 'bad field duration_s: begins before the year 2000'
    when not (coalesce(data_wait_s, 0) >= 0 and coalesce(data_wait_s, 0) < 4e9)
      then 'bad field data_wait_s: not a possible duration'
    when not (coalesce(straggler_s, 0) >= 0 and coalesce(straggler_s, 0) < 4e9)
      then 'bad field straggler_s: not a possible duration'
    when not (coalesce(checkpoint_s, 0) >= 0 and coalesce(checkpoint_s, 0) < 4e9)
      then 'bad field checkpoint_s: not a possible duration'
    when not (coalesce(overhead_s, 0) >= 0 and coalesce(overhead_s, 0) < 4e9)
      then 'bad field overhead_s: not a possible duration'
    when not is_storable_text(straggler_node)
      then 'bad field straggler_node: empty, or no text that can be stored'
    when not (coalesce(steps, 1) between 1 and 1000000
      and coalesce(steps, 1) = floor(coalesce(steps, 1)))
      then 'bad field steps: a record stands for 1 to 1,000,000 whole steps'
    when coalesce(steps, 1) > step + 1 then 'bad field steps: more than there are up to step'
  end as reason
from (
  select *, coalesce(
      utc_us, epoch_us(try_cast(ts as timestamptz)), epoch_us(try_cast(upper(ts) as timestamptz))
    ) as moment_us
  from (
    -- Two usual forms of UTC, in which every field has its full width, need no pattern.
    select *, coalesce(ts_us, epoch_us(case when ts like '20%Z' and strlen(ts) = 27
        then try_strptime(ts, '%Y-%m-%dT%H:%M:%S.%fZ')
      when ts like '20%+00:00' and strlen(ts) = 32
        then try_strptime(ts, '%Y-%m-%dT%H:%M:%S.%f+00:00')
      end)) as utc_us
    from parsed_steps
  )
)
