"""hodo: a flight recorder for ML and GPU programs.

Name the regions of your code; hodo records each one for about a tenth of a microsecond::

    import hodo

    hodo.init(app="train")
    for epoch in hodo.epochs(range(3)):
        for batch in hodo.batches(loader):
            with hodo.scope("forward", variant="small") as s:
                ...
            hodo.mark("loss", 0.5)

Then ``hodo report`` in a terminal, or ``hodo.report()`` here.
"""

from hodo._compile import be_invisible as _be_invisible
from hodo._control import (
    flush,
    health,
    init,
    is_on,
    profile,
    shutdown,
)
from hodo._hodo import (
    Begin,
    Link,
    NewScope,
    Scope,
    attach,
    batches,
    begin,
    current,
    current_scope_id,
    enter_new_scope,
    epochs,
    mark,
    scope,
)

from hodo._later import (
    bench,
    carry,
    child_env,
    inference,
    request_id,
    tokens,
    traceparent,
    unwrap,
    window,
    wrap,
)

__version__ = "0.1.0"

# Not `open`: `from hodo import *` would hide Python's own.
__all__ = [
    "Begin",
    "Link",
    "NewScope",
    "Scope",
    "attach",
    "batches",
    "begin",
    "bench",
    "carry",
    "child_env",
    "current",
    "current_scope_id",
    "enter_new_scope",
    "epochs",
    "flush",
    "health",
    "inference",
    "init",
    "is_on",
    "mark",
    "profile",
    "report",
    "request_id",
    "scope",
    "shutdown",
    "sql",
    "tokens",
    "trace",
    "traceparent",
    "unwrap",
    "window",
    "wrap",
]

# Type checkers take this for what `typing` calls so, whose import would cost milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hodo._bench import Statistics as Statistics
    from hodo._table import Table as Table
    from hodo._trace import Run as Run
    from hodo._window import Window as Window
    from hodo._trace import open as open, report, sql, trace
else:
    from hodo._later import open, report, sql, trace
del TYPE_CHECKING

# Also without a recorder: scopes in a program must not change how it is compiled.
_be_invisible()


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext hodo`` gives notebooks the ``%%hodo`` magic."""
    from hodo._notebook import load

    load(ipython)
