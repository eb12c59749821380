-- The gaps between kernels of a process on a device: when each began, how long it was, and the
-- scope and the kernel that ended it.
select
  run, process, device, start_ns - idle_before_ns as from_ns, idle_before_ns as idle_ns, path,
  short_name as kernel
from kernels
where idle_before_ns is not null
order by run, from_ns
