-- What the warehouse stores. Times are microseconds since 1970 UTC (_us).
-- Raw tables come first: they are only ever written by ingestion, a file a transaction.

create table if not exists schema_version (version integer not null);

create table if not exists jobs (job_id integer primary key, job varchar not null unique);

-- Grain: a job of which raw steps were dropped (see pipelines/folding.py). What was derived of its
-- hours before folded_until_us stands, and no record of them is taken any more; of a closed job no
-- record at all.
create table if not exists folds (
  job_id integer primary key,
  folded_until_us bigint not null,
  is_closed boolean not null
);

create table if not exists files (
  file_id integer primary key,
  fingerprint varchar not null unique,  -- digest of content, source and settings
  path varchar not null,
  source varchar not null,
  ingested_at_us bigint not null,
  read_records bigint not null,
  new_records bigint not null,
  duplicate_records bigint not null,
  dropped_fields bigint not null,
  quarantined_records bigint not null
);

-- Grain: a lifecycle record, each stored once (record_key is a digest over all its fields).
create table if not exists events (
  event_id bigint not null,             -- in order of arrival
  record_key varchar primary key,
  file_id integer not null,
  event varchar not null,
  ts_us bigint not null,
  cluster varchar,
  job_id integer,
  attempt integer,
  step bigint,
  cause varchar,
  reason varchar,
  outcome varchar,
  name varchar,
  tier varchar,
  tenant varchar,
  "user" varchar,
  gpus bigint,
  nodes varchar[],
  node varchar,
  jobs varchar[],
  id varchar,
  starts_us bigint,
  ends_us bigint,
  blocking boolean,
  deliberate boolean,
  preemptible boolean,
  expected_duration_us bigint,
  checkpoint_interval_us bigint,
  expected_step_us bigint,
  grace_us bigint,
  duration_us bigint,
  bytes bigint,
  gpus_gathered bigint,
  location varchar,
  by_job varchar,
  for_job varchar,
  change varchar,
  scope varchar,
  state varchar,
  result varchar,
  checks varchar,
  code_version varchar,
  data_version varchar,
  detail varchar
);

-- Grain: the steps of one attempt that end in one hour of a job (a step belongs to the hour that
-- holds its last microsecond). A group never changes: when an hour of a job gains or loses a step,
-- all its groups are replaced by new ones with new ids, so an id names content, and what follows
-- from its steps alone is summed up once: the settled ones (see steps).
create table if not exists step_groups (
  group_id integer primary key,
  job_id integer not null,
  hour_us bigint not null,
  attempt integer not null,
  steps bigint not null,
  first_ts_us bigint not null,
  last_ts_us bigint not null,
  min_step bigint not null,
  max_step bigint not null,
  head_begin_us bigint,                 -- own beginning of the hour's first step, if it is here
  file_id integer not null,             -- whose ingestion made the group
  settled_steps bigint not null,
  settled_clipped_steps bigint not null,
  settled_loader_us hugeint not null,
  settled_compute_us hugeint not null,
  settled_straggler_us hugeint not null,
  settled_checkpoint_us hugeint not null,
  settled_overhead_us hugeint not null
);

-- Grain: a step. No key is declared: ingestion keeps (job, attempt, step) unique. It is settled
-- where the steps of its hour alone decide what it paints: another precedes it there, and what it
-- reports of its components fits into it. Only then compute_us and gap_us are known.
create table if not exists steps (
  group_id integer not null,
  step bigint not null,
  ts_us bigint not null,
  before_us bigint,                     -- end of the step before it in this hour of the job
  duration_us bigint not null,
  data_wait_us bigint not null,
  straggler_us bigint not null,
  checkpoint_us bigint not null,
  overhead_us bigint not null,
  compute_us bigint,                    -- what its components leave of it
  gap_us bigint,                        -- from before_us to where it begins
  straggler_node varchar,
  file_id integer not null
);

create table if not exists quarantine (
  file_id integer not null,
  line bigint,
  reason varchar not null,
  raw varchar not null
);

-- Grain: a chunk of a query that was pulled from Prometheus, written in the transaction that stores
-- what it yielded: the latest until_us of a query is where its next pull begins.
create table if not exists pulls (
  query varchar not null,               -- a name in the policy's prometheus.samples, or node_states
  from_us bigint not null,
  until_us bigint not null,             -- the chunk ends before it
  step_us bigint not null,
  points bigint not null,               -- values received
  used bigint not null,                 -- samples or node states made of them
  gaps bigint not null,                 -- stretches in which a series or node says nothing
  gap_us bigint not null,
  counter_resets bigint not null,
  sentinels bigint not null,            -- values that mean that there is none
  not_numbers bigint not null,          -- NaN and infinities
  dropped_labels bigint not null,       -- labels outside the allow-list, over all series
  records bigint not null,
  pulled_at_us bigint not null,
  primary key (query, from_us)
);

-- Grain: a node as the pulls up to now left it. A repeated state is no event.
create table if not exists pulled_nodes (
  node varchar primary key,
  state varchar not null,
  gpus bigint not null
);

create table if not exists series (
  series_id integer primary key,
  query varchar not null,
  labels varchar not null,              -- JSON of allow-listed labels, in the order of their names
  unique (query, labels)
);

-- Grain: (series, moment): a number beside the events, in the unit that the query's name says.
create table if not exists samples (
  series_id integer not null,
  ts_us bigint not null,
  value double not null
);

create table if not exists counters (
  next_group_id integer not null,
  next_event_id bigint not null
);
insert into counters select 1, 1 where not exists (from counters);

-- Derived tables. A refresh replaces in them only what its records touch; `headway refresh
-- --rebuild` empties them first. All are functions of the raw tables, the policy and as_of.

create table if not exists refreshes (
  as_of_us bigint not null,
  next_event_id bigint not null,        -- what the refresh had seen
  next_group_id integer not null,
  settings varchar not null             -- version and policy that the models ran under
);

-- Grain: a job that has a record. wall_* is null where it has neither an allocation nor a step.
create table if not exists job_facts (
  job_id integer primary key,
  cluster varchar,
  tier varchar,
  tenant varchar,
  "user" varchar,
  name varchar,
  gpus bigint,
  expected_step_us bigint,
  checkpoint_interval_us bigint,        -- in force: as submitted, else as measured
  submitted_us bigint,
  instrumented boolean not null,
  state varchar not null,               -- pending, running, suspended, silent or the outcome
  silent boolean not null,
  wall_start_us bigint,
  wall_end_us bigint,
  open boolean not null,                -- its end may still move
  last_record_us bigint not null,
  last_step_us bigint
);

-- Grain: an attempt that has steps (see staging/attempts).
create table if not exists attempt_facts (
  job_id integer not null,
  attempt integer not null,
  steps bigint not null,
  first_ts_us bigint not null,
  last_ts_us bigint not null,
  min_step bigint not null,
  max_step bigint not null
);

-- Grain: a stretch of a job's time with one label, from start_us to the next row's start_us. The
-- label is what time without a painted step counts as; category is null outside the wall.
create table if not exists labels (
  job_id integer not null,
  start_us bigint not null,
  span integer,                         -- the restart it belongs to
  category varchar,
  component varchar,
  cause varchar
);

-- Grain: an attempt's slow-step baseline, with the placements it was read under.
create table if not exists baselines (
  job_id integer not null,
  attempt integer not null,
  inputs varchar not null,
  measured_steps bigint not null,
  median_us bigint,
  p90_us bigint
);

-- Grain: a step group: all that its painting depends on besides its steps.
create table if not exists contexts (
  group_id integer not null,
  job_id integer not null,
  hour_us bigint not null,
  attempt integer not null,
  before_us bigint,                     -- end of the job's last step before the hour
  wall_start_us bigint,                 -- only where no step of the job precedes the hour
  first_ts_us bigint,                   -- ts of the attempt's first step, if it is in this group
  paint_until_us bigint not null,
  seen_until_us bigint,                 -- as_of, where it cuts the group
  suspensions struct(start_us bigint, end_us bigint)[],
  is_plain boolean not null,            -- no suspension, end of the wall or as_of cuts into it
  baseline_us bigint,                   -- compute up to twice this is useful; null: no limit
  superseded_above bigint,              -- steps with a higher number were lost
  rework_category varchar,
  rework_cause varchar,
  cuts bigint[]                         -- where labels change inside the hour; null: nowhere
);

-- Grain: a step group: what its steps painted inside its own hour.
create table if not exists painted_sums (
  group_id integer not null,
  job_id integer not null,
  hour_us bigint not null,
  attempt integer not null,
  steps bigint not null,
  superseded_steps bigint not null,
  clipped_steps bigint not null,
  over_reported_steps bigint not null,
  useful_us hugeint not null,
  slow_us hugeint not null,
  rework_us hugeint not null,
  loader_us hugeint not null,
  straggler_us hugeint not null,
  checkpoint_us hugeint not null,
  overhead_us hugeint not null,
  rework_category varchar,
  rework_cause varchar
);

-- Grain: a stretch of an hour without a change of label, from start_us on: the time between a step
-- group's steps in it that none of them painted (see painted_pieces for the rest).
create table if not exists painted_gaps (
  group_id integer not null,
  job_id integer not null,
  hour_us bigint not null,
  start_us bigint not null,
  us hugeint not null
);

-- Grain: a stretch of an hour: a part of a step that began in an earlier hour than it ended, or an
-- unpainted gap before the first step of an hour, or beyond a change of label (part = gap).
create table if not exists painted_pieces (
  group_id integer not null,
  job_id integer not null,
  hour_us bigint not null,
  start_us bigint not null,
  end_us bigint not null,
  part varchar not null,
  category varchar,
  component varchar,
  cause varchar
);

-- Grain: time of a job's hour that no step painted, by label and restart.
create table if not exists unpainted (
  job_id integer not null,
  hour_us bigint not null,
  span integer,
  category varchar not null,
  component varchar not null,
  cause varchar not null,
  us hugeint not null
);

-- Grain: (job, hour, category, component, cause). For every job and hour the rows sum to the wall.
create table if not exists ledger (
  job_id integer not null,
  hour_us bigint not null,
  category varchar not null,
  component varchar not null,
  cause varchar not null,
  us bigint not null
);

-- Grain: a restart (see marts/restarts).
create table if not exists restarts (
  job_id integer not null,
  detected_us bigint not null,
  recovered_us bigint,
  cause varchar not null,
  outcome varchar not null,
  basis varchar,
  attempts_used bigint not null,
  interruptions bigint not null,
  lost_steps bigint,
  time_to_restart_us bigint,
  age_us bigint not null,
  detect_us bigint,
  requeue_us bigint not null,
  launch_us bigint not null,
  load_us bigint not null,
  first_step_us bigint
);

-- Grain: a job that was submitted (see marts/queue_waits).
create table if not exists queue_waits (
  job_id integer not null,
  tier varchar,
  submitted_us bigint not null,
  started_us bigint,
  basis varchar,
  censored boolean not null,
  wait_us bigint not null
);

-- Grain: (job, part, reason) of a queue wait (see marts/wait_parts).
create table if not exists wait_parts (
  job_id integer not null,
  part varchar not null,
  reason varchar not null,
  us bigint not null
);

-- Grain: a step group: how long its steps took (see marts/step_hours). Read by people, not by models;
-- a rebuild keeps it, since a group never changes.
create table if not exists step_hours (
  group_id integer not null,
  job_id integer not null,
  attempt integer not null,
  hour_us bigint not null,
  steps bigint not null,
  p10_us bigint not null,
  median_us bigint not null,
  p90_us bigint not null,
  longest_us bigint not null,
  longest_step bigint not null,
  loader_us bigint not null,
  straggler_us bigint not null,
  straggler_node varchar
);

-- Grain: (step group, node): what its settled steps waited for a node that they name (see
-- marts/straggler_groups). A rebuild keeps it, since a group never changes.
create table if not exists straggler_groups (
  group_id integer not null,
  node varchar not null,
  us hugeint not null
);

-- Grain: (step group, node, hour): what its picked steps waited for the node as painted, less what
-- straggler_groups counts of them.
create table if not exists painted_stragglers (
  group_id integer not null,
  job_id integer not null,
  hour_us bigint not null,
  node varchar not null,
  us hugeint not null
);

-- Grain: a job that has a wall-clock (see marts/goodput).
create table if not exists goodput (
  job_id integer primary key,
  wall_us bigint not null,
  useful_us bigint not null
);

-- Grain: a change of a node's state (see capacity/node_points).
create table if not exists node_points (
  cluster varchar not null,
  node varchar not null,
  start_us bigint not null,
  end_us bigint,                        -- null: it lasts
  state varchar not null,
  gpus bigint not null
);

-- Grain: a change of what a job does with GPUs (see capacity/job_points).
create table if not exists job_points (
  job_id integer not null,
  start_us bigint not null,
  end_us bigint,                        -- null: it lasts
  kind varchar not null,                -- held, waiting, or none
  cluster varchar not null,
  tenant varchar not null,
  gpus bigint,
  nodes varchar[]                       -- that it holds; null where no allocation names any
);

-- Grain: (cluster, hour, category, component, tenant). For every hour the rows sum to what is
-- installed in it, in GPU-µs.
create table if not exists capacity (
  cluster varchar not null,
  hour_us bigint not null,
  category varchar not null,
  component varchar not null,
  tenant varchar,                       -- of the job that held the GPUs; null: none did
  gpu_us hugeint not null
);
