-- The gaps between kernels of a process on a device: when each began, how long it was, and the
-- scope and the kernel that ended it.
select run, process, device, from_ns, start_ns - from_ns as idle_ns, path, short_name as kernel
from (
  select
    run, process, device, start_ns, path, short_name,
    max(start_ns + duration_ns) over (
      partition by run, process, device order by start_ns
      rows between unbounded preceding and 1 preceding
    ) as from_ns
  from kernels
  where start_ns is not null and duration_ns is not null
)
where start_ns > from_ns
order by run, from_ns
