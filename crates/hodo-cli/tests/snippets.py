"""Runs the Python snippets of a page: snippets.py PAGE.md [TITLE...].

A snippet's first line is its title, `# polars`; those with the given titles are run, each by itself.
"""

import re
import sys

page, wanted = open(sys.argv[1]).read(), sys.argv[2:]
ran = []
for snippet in re.findall(r"```python\n(.*?)```", page, re.S):
    title = snippet.splitlines()[0].lstrip("# ")
    if title in wanted:
        exec(compile(snippet, f"{sys.argv[1]}: {title}", "exec"), {})
        ran.append(title)
assert sorted(ran) == sorted(wanted), f"no snippets {set(wanted) - set(ran)}"
print("ran:", ", ".join(ran))
