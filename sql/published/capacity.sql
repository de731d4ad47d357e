-- Grain: (cluster, hour, category, component, tenant): what the installed GPUs did, in GPU-µs. tenant is
-- that of the job that held them, null where none did.
from capacity order by all
