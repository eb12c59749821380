"""Child processes: those that Python starts anew join the run, under the scope that started them.

A forked child needs nothing of this. One that is started anew gets its process object pickled, and
with it what every process hands to its children: among that a :class:`Carrier`, which says at the
moment of pickling which run and scope the child belongs to, and starts hodo there when unpickled.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from hodo import _hodo

_KEY = "hodo"


class Carrier:
    """Stands in a process's configuration; becomes ``None`` in the child."""

    def __reduce__(self) -> tuple[Any, tuple[str | None, str | None]]:
        variables = child_env()
        return (join, (variables.get("HODO_RUN"), variables.get("HODO_PARENT")))


def child_env() -> dict[str, str]:
    """What :func:`hodo.child_env` returns."""
    run, parent = _hodo.child_variables()
    given = {"HODO_RUN": run, "HODO_PARENT": parent}
    return {key: value for key, value in given.items() if value is not None}


@contextlib.contextmanager
def parent_in_environment() -> Iterator[None]:
    """While it is entered, a process that is started anew finds the current scope in its environment.

    One that starts hodo as it imports its main module does so before its :class:`Carrier` is there.
    """
    variables = child_env()
    before = os.environ.get("HODO_PARENT")
    # Whoever does not share the run gets no parent of it.
    if "HODO_PARENT" not in variables or variables["HODO_RUN"] != os.environ.get("HODO_RUN"):
        yield
        return
    os.environ["HODO_PARENT"] = variables["HODO_PARENT"]
    try:
        yield
    finally:
        if before is None:
            # Another thread that started workers meanwhile may have done so.
            os.environ.pop("HODO_PARENT", None)
        else:
            os.environ["HODO_PARENT"] = before


def join(run: str | None, parent: str | None) -> None:
    """Starts recording in a child that multiprocessing has started; never raises there."""
    if run is None or _hodo.is_on():
        return
    os.environ["HODO_RUN"] = run
    if parent is not None:
        os.environ["HODO_PARENT"] = parent
    from hodo import _control

    try:
        if _control.init() != "off":
            _control._hook_as_asked(is_child=True)
    except Exception as error:
        _control._log().warning("this child process is not recorded: %r", error)


def prepare() -> None:
    """Lets children of this process join, and clean up."""
    from multiprocessing import process, util

    config = getattr(process.current_process(), "_config", None)
    if isinstance(config, dict) and _KEY not in config:
        config[_KEY] = Carrier()
        util.register_after_fork(config[_KEY], _in_forked_child)


def _in_forked_child(_: Carrier) -> None:
    """A child that multiprocessing forked ends by ``os._exit``, but runs its finalizers before."""
    from multiprocessing import util

    util.Finalize(None, _hodo.shutdown, exitpriority=-100)


def share(run: str) -> None:
    """Puts the run where programs look that are started with a copy of ``os.environ``."""
    os.environ["HODO_RUN"] = run


def unshare(run: str | None) -> None:
    """Takes it out again, unless it is another's."""
    if run is not None and os.environ.get("HODO_RUN") == run:
        del os.environ["HODO_RUN"]
