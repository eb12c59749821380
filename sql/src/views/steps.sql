-- The passes of the outermost loops: scopes with an index that ran more than once on their path,
-- inside no other such loop.
with loops as (
  select run, path, depth from spans where "index" is not null
  group by run, path, depth having count(*) > 1
),
outermost as (
  select run, path, depth from loops
  where not exists (
    select 1 from loops as around
    where around.run = loops.run
      and around.depth < loops.depth
      and starts_with(loops.path, concat(around.path, '/'))
  )
)
select
  spans.run, spans.name, spans."index", spans.start_ns, spans.duration_ns, spans.rank,
  spans.path, spans.process
from spans
join outermost
  on spans.run = outermost.run and spans.path = outermost.path and spans.depth = outermost.depth
where spans."index" is not null
order by spans.run, spans.start_ns
