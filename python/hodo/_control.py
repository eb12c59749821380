"""Starting, stopping, asking."""

from __future__ import annotations

import os
import sys

from hodo import _hodo

# Type checkers take this for what `typing` calls so, whose import would cost milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_log_is_set = False

GPU_LEVELS = ("auto", "off", "monitor", "trace", "pc-sampling")


def init(
    app: str | None = None,
    dir: str | os.PathLike[str] | None = None,
    *,
    run: str | os.PathLike[str] | None = None,
    enabled: bool | None = None,
    max_depth: int | None = None,
    flush_interval: float | None = None,
    max_bytes: int | None = None,
    memory_bytes: int | None = None,
    share_run: bool = True,
    gpu: str | None = None,
    by_layer: bool = False,
    telemetry: str | float | None = None,
) -> str:
    """Start recording, and say how it went: ``"on"``, ``"degraded"``, ``"off"`` or ``"already"``.

    Never raises because of the machine: what does not work is logged once and is in
    :func:`health`. What is left out comes from the ``HODO_*`` variables, else from the defaults;
    ``HODO=0`` switches off whatever the code says.

    app: name of the program in reports; the script's name if not given.
    dir: folder that runs are kept in; ``.hodo`` if not given.
    run: the folder of a run to join; it is made if there is none.
    enabled: False records nothing; every scope is then nearly free.
    max_depth: scopes nested deeper are counted, not recorded (64).
    flush_interval: seconds that records may wait in memory (1.0).
    max_bytes: most bytes kept on disk, the oldest go first (4 GiB).
    memory_bytes: memory for records not yet on disk (64 MiB).
    share_run: let child processes join this run.
    gpu: "auto" captures every kernel, copy and set of a program that uses CUDA, under the scope
        that launched it; "trace" does too and warns when CUDA starts and it cannot; "off"
        captures nothing; "monitor" and "pc-sampling" as in the guide to levels. Never starts
        CUDA itself.
    by_layer: kernels of torch's backward pass also say which forward scope their operation ran in,
        for `hodo report --backward`; costs some microseconds an operation.
    telemetry: reads the machine (GPUs, processors, memory, disks, networks, this run's processes)
        beside the scopes: the time between readings, as a text ("50ms", "1s") or in seconds
        (0.05); ``"1s,scopes"`` reads only while a scope is open, ``"off"`` never. If not given:
        never, but once a second with ``gpu="monitor"``. One process of a run on each host reads
        for all; a thread of its own does, so no scope waits for it.
    """
    _set_log()
    if gpu not in (None, *GPU_LEVELS):
        raise ValueError(f"gpu is one of {', '.join(GPU_LEVELS)}, not {gpu!r}")
    state, reason = _hodo.start(
        _library(),
        app=_bytes(app or os.environ.get("HODO_APP") or _script(), "app"),
        dir=_bytes(dir, "dir"),
        run=_bytes(run, "run"),
        enabled=_truth(enabled, "enabled"),
        max_depth=_number(max_depth, "max_depth"),
        memory_bytes=_number(memory_bytes, "memory_bytes"),
        spool_bytes=_number(max_bytes, "max_bytes"),
        flush_ms=_milliseconds(flush_interval),
        share_run=share_run,
        gpu=_bytes(gpu, "gpu"),
        telemetry=_bytes(_readings(telemetry), "telemetry"),
    )
    if state in ("on", "degraded"):
        if share_run:
            _share()
    # Also where the recorder was there before, as under `hodo run`.
    if state != "off" and (gpu or os.environ.get("HODO_GPU")) not in ("off", "monitor"):
        _meet_torch(by_layer)
    if state == "off" and "switched off" not in reason:
        _log().warning("not recording: %s", reason)
    if state != "off" and os.environ.get("HODO_HOOKS"):
        _hook_as_asked()
    return str(state)


def _hook_as_asked(is_child: bool = False) -> None:
    """Hooks what the environment says; what a parent says there only in a child that it records."""
    from hodo import hooks

    asked = hooks.from_environment()
    if asked is not None and (is_child or not hooks.is_inherited()):
        hooks.install(*asked)


def profile(
    frameworks: Iterable[str] | str | None = None,
    *,
    app: str | None = None,
    layers: int = 0,
    memory: bool = False,
    collectives: bool = False,
    **options: Any,
) -> str:
    """Start recording, and hook the frameworks of the program: the one line that a script needs.

    ::

        hodo.profile()
        train()    # as it is: epochs, steps, data_wait, forward, backward, optimizer are scopes

    Hooks what is imported, now or later, each framework once; :func:`shutdown` undoes it all. Scopes
    of your own go around and into those of the hooks. Says what :func:`init` does, and takes the
    same options; ``health()["hooks"]`` tells what is hooked.

    frameworks: names to choose from torch, transformers, lightning, keras, jax, sklearn; all of them
        if left out, none for ``[]``. What is hooked already stays so.
    layers: how deep submodules of torch have scopes of their own; 0 is the outermost module alone.
    memory: hooked scopes have what torch's CUDA allocator held: ``memory_delta_bytes`` and
        ``memory_peak_bytes``, for which torch's own peak is reset.
    collectives: each bucket of gradients that DistributedDataParallel reduces is a scope inside
        ``backward``, for which the model gets a communication hook; without, torch's own figures of
        some steps are marked.
    """
    from hodo import hooks

    wanted = hooks.names(frameworks)
    settings = hooks.Settings(
        _depth(layers), _truth(memory, "memory"), _truth(collectives, "collectives")
    )
    asked = hooks.from_environment()
    if asked is not None:
        settings = settings.and_also(asked[1])
    if frameworks is not None:
        hooks.choose()
    elif asked is not None:
        wanted = asked[0]
    state = init(app=app, **options)
    if state != "off":
        hooks.install(wanted, settings)
    return state


def _depth(layers: int) -> int:
    if isinstance(layers, bool) or not isinstance(layers, int) or layers < 0:
        raise ValueError(f"layers is a whole number from 0 on, not {layers!r}")
    return layers


def is_on() -> bool:
    """Whether a recorder is on in this process."""
    return bool(_hodo.is_on())


def flush(timeout: float = 10.0) -> bool:
    """Wait until everything recorded so far is on disk; whether that was reached in time.

    Not needed to be safe from a crash: a closed scope survives ``kill -9``.
    """
    told = _hodo.flush(timeout)
    if told not in ("done", "timed out", "off"):
        _log().warning("flush: %s", told)
    return bool(told == "done")


def shutdown() -> None:
    """Stop recording: everything is written, scopes from now on are inert. Optional, and quick."""
    run = _hodo.child_variables()[0]
    if "hodo.hooks" in sys.modules:
        sys.modules["hodo.hooks"].remove()
    told = _hodo.shutdown()
    if _is_shared:
        from hodo._children import unshare

        unshare(run)
    if told not in ("done", "off"):
        _log().warning("shutdown: %s", told)


def health() -> dict[str, Any]:
    """The state of the recorder.

    on: whether it records.
    produced, stored, in_ring, lost: exact counts of spans, marks and attribute records;
        ``produced = stored + in_ring + lost``, and ``lost`` is by reason.
    lost_records: everything in ``lost``, added up.
    depth_dropped: scopes past ``max_depth``.
    out_of_order, double_closed, wrong_thread: closes that were not as they should be.
    names_refused: names past a million different ones.
    values_as_text: names, values and attributes that were stored as what ``str`` says of them.
    internal_errors: errors inside hodo that were caught.
    threads, cpu_syscalls, ring_bytes, memory_bytes, spool_bytes, pump_lag_ns, scope_cost_ns.
    crash_safe: whether a killed process leaves everything it recorded.
    clock, cpu_time, context: the methods in use.
    run: the run's folder.
    gpu: the capture of GPU work: its state ("capturing", "waiting" for CUDA, "unavailable", ...),
        the reason, the library in use, what was launched, recorded, stored and lost.
    telemetry: the machine's readings: their state ("off", "sampling", "linked" to another process
        that makes them, "idle" outside scopes, "paused" by a fork until the next scope, "failed"),
        the interval, rounds, late ones, what they cost, and what cannot be read and why.
    hooks: the frameworks of :func:`profile`: "hooked", "waiting" for their import, or why it failed.
    degraded: what does not work as it should, and why; empty when all is well.
    """
    import json

    health = dict(_hodo.health())
    health["gpu"] = json.loads(_hodo.gpu_state() or '{"state": "off"}')
    health["telemetry"] = json.loads(_hodo.telemetry_state() or '{"state": "off"}')
    hooks = sys.modules.get("hodo.hooks")
    health["hooks"] = {} if hooks is None else hooks.state()
    return health


_is_shared = False


def _share() -> None:
    """Lets child processes join; a run that was given by a launcher stays in the environment."""
    global _is_shared
    from hodo import _children

    run = _hodo.child_variables()[0]
    if run is not None and os.environ.get("HODO_RUN") != run:
        _children.share(run)
        _is_shared = True
    _children.prepare()


def _meet_torch(by_layer: bool) -> None:
    from hodo import _torch

    _torch.share_cupti()
    if by_layer:
        _torch.by_layer()


def _library() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "libhodo.so")


def _script() -> str | None:
    program = sys.argv[0] if sys.argv else ""
    if program in ("", "-", "-c", "-m"):
        return "python"
    name = os.path.basename(program)
    if name == "__main__.py":
        name = os.path.basename(os.path.dirname(os.path.abspath(program)))
    return os.path.splitext(name)[0] or "python"


def _bytes(text: str | os.PathLike[str] | None, name: str) -> bytes | None:
    if text is None:
        return None
    if not isinstance(text, (str, os.PathLike)):
        raise TypeError(f"{name} is a text, not {text!r}")
    encoded = os.fsencode(os.fspath(text))
    if b"\0" in encoded:
        raise ValueError(f"{name} cannot contain a NUL character")
    return encoded


def _truth(value: bool | None, name: str) -> bool:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{name} is True or False, not {value!r}")
    return value is not False


def _number(value: int | None, name: str) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} is a positive whole number, not {value!r}")
    return value


def _milliseconds(seconds: float | None) -> int:
    if seconds is None:
        return 0
    if not isinstance(seconds, (int, float)) or not 0 < seconds <= 86_400:
        raise ValueError(f"flush_interval is in seconds, above 0 and up to a day, not {seconds!r}")
    return max(1, round(seconds * 1000))


def _readings(telemetry: str | float | None) -> str | None:
    """The text that stands for ``telemetry``; a ValueError for what makes no sense."""
    if telemetry is None:
        return None
    if isinstance(telemetry, bool):
        return "on" if telemetry else "off"
    if isinstance(telemetry, (int, float)):
        telemetry = f"{telemetry * 1000:.6g}ms" if telemetry else "off"
    if not isinstance(telemetry, str):
        raise TypeError(f"telemetry is a text or a number of seconds, not {telemetry!r}")
    nonsense = _hodo.telemetry_nonsense(telemetry)
    if nonsense is not None:
        raise ValueError(nonsense.replace(" is ignored:", " makes no sense:"))
    return telemetry


def _log() -> Any:
    import logging

    return logging.getLogger("hodo")


def _set_log() -> None:
    global _log_is_set
    if not _log_is_set:
        _log_is_set = True
        import atexit

        atexit.register(_hodo.log_no_more)
        os.register_at_fork(before=_hodo.arrive)
        _hodo.log_to(lambda message: _log().warning("%s", message))
