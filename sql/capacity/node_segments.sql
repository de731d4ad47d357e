-- Grain: a stretch of a work hour in which neither a node's state nor its holders changed: its GPUs and
-- those that each of the holders was to have. A node that jobs hold before any state of it is known
-- counts as unknown in that hour, with as many GPUs as they held of it at once.
with busy as (
  select distinct cluster, node, hour_us from node_holds
),
cuts as (
  select cluster, node, hour_us, start_us as at_us from node_holds
  union select cluster, node, hour_us, end_us from node_holds
  union select cluster, node, hour_us, start_us from node_pieces semi join busy using (cluster, node, hour_us)
  union select cluster, node, hour_us, end_us from node_pieces semi join busy using (cluster, node, hour_us)
  union select cluster, node, hour_us, hour_us from busy
  union select cluster, node, hour_us, until_us from busy join work_hours using (hour_us)
),
spans as (
  select cluster, node, hour_us, at_us as start_us,
    lead(at_us) over (partition by cluster, node, hour_us order by at_us) as end_us
  from cuts
),
held as (
  select s.cluster, s.node, s.hour_us, s.start_us, sum(h.gpus) as wanted_gpus,
    list({job_id: h.job_id, gpus: h.gpus} order by h.since_us desc, j.job) as holders
  from spans s
  join node_holds h on h.cluster = s.cluster and h.node = s.node and h.hour_us = s.hour_us
    and h.start_us < s.end_us and s.start_us < h.end_us
  join jobs j using (job_id)
  group by s.cluster, s.node, s.hour_us, s.start_us
),
stated as (
  select s.*, p.state, p.gpus, h.wanted_gpus, h.holders
  from spans s
  left join node_pieces p on p.cluster = s.cluster and p.node = s.node and p.hour_us = s.hour_us
    and p.start_us < s.end_us and s.start_us < p.end_us
  left join held h on h.cluster = s.cluster and h.node = s.node and h.start_us = s.start_us
  where s.end_us is not null
),
sized as (
  select * replace (coalesce(gpus, max(wanted_gpus) filter (state is null) over (
      partition by cluster, node, hour_us))::bigint as gpus)
  from stated
)
select cluster, node, hour_us, start_us, end_us, coalesce(state, 'unknown') as state, gpus, holders
from sized where gpus > 0
union all
select cluster, node, hour_us, start_us, end_us, state, gpus, null
from node_pieces anti join busy using (cluster, node, hour_us) where gpus > 0
