-- What each path of scopes ran on the GPU, by kernel. Kernels that no scope launched have no path.
select
  run, path, short_name as kernel, count(*) as count, sum(duration_ns) as total_ns,
  cast(round(avg(duration_ns)) as bigint) as mean_ns, max(duration_ns) as max_ns
from kernels
group by run, path, short_name
order by run, path, total_ns desc
