"""Run by Python as it starts, in a program that ``hodo run --hooks`` started: a folder on its path."""

import os
import sys


def _start() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    # The one that this hides, if there is one.
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            # Who imports this one looks for it when it has run.
            sys.modules.setdefault("sitecustomize", own)
    if sys.version_info < (3, 11):
        sys.stderr.write("hodo: no hooks: they need Python 3.11 or newer, and this is older\n")
        return
    package = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    try:
        try:
            from hodo import hooks
        except ImportError:
            # This Python has no hodo: the one that the program `hodo` came with.
            sys.path.append(package)
            try:
                from hodo import hooks
            finally:
                sys.path.remove(package)
        hooks.start()
    except Exception as error:
        sys.stderr.write("hodo: no hooks: %r\n" % (error,))


_start()
