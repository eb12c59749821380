-- Every path of scopes once. Statistics are of the scopes that closed, as in `hodo report`.
select
  run, path, depth, name, count, total_ns, self_ns,
  d['mean_ns'] as mean_ns, d['p50_ns'] as p50_ns, d['p95_ns'] as p95_ns, d['max_ns'] as max_ns,
  cpu_ns, gpu_ns
from (
  select
    run, path, depth, name,
    count(*) as count,
    sum(duration_ns) as total_ns,
    sum(self_ns) as self_ns,
    durations(duration_ns) filter (where state in ('closed', 'failed')) as d,
    sum(cpu_ns) as cpu_ns,
    sum(gpu_busy_ns) as gpu_ns
  from spans
  group by run, path, depth, name
)
order by run, path, depth
