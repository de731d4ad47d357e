-- Grain: (job, node) of the latest allocation up to the moment that names its nodes.
select distinct job, unnest(nodes) as node
from (
  select job, arg_max(nodes, (allocated_us, attempt)) as nodes from attempts
  where len(nodes) > 0 group by job
)
