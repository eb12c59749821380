-- Scopes, the longest first.
select
  run, path, name, "index", duration_ns, self_ns, cpu_ns, gpu_busy_ns as gpu_ns, start_ns, state,
  rank, process, thread, id
from spans
order by duration_ns desc nulls last
