"""DistributedDataParallel: it reduces gradients in C++, inside of ``backward``.

So without a word from the program that has no scopes: ``backward`` is marked with the bytes, and with
the times that torch itself takes of some steps. On request each model gets a communication hook, which
does what torch does without one, with a scope for each bucket.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from hodo import _control, _hodo
from hodo.hooks import Settings, Undo

WHY = "not captured: reduced by torch itself; hodo.profile(collectives=True) gives buckets scopes"
# Torch times the first steps, and then one of so many.
TIMED_FIRST, TIMED_EVERY = 10, 100


def install(torch: Any, undo: Undo, settings: Settings, collectives: Any) -> None:
    """Hooks the models that are wrapped, and the engine that runs backward passes."""
    kind = torch.nn.parallel.DistributedDataParallel
    hooks = _Models(torch, undo, settings, collectives)
    undo.patch(kind, "forward", hooks.forward(kind.forward))
    undo.patch(kind, "register_comm_hook", hooks.register(kind.register_comm_hook))
    builtin = "_register_builtin_comm_hook"
    if builtin in vars(kind):
        undo.patch(kind, builtin, hooks.register_builtin(vars(kind)[builtin]))
    make = torch.distributed.distributed_c10d.init_process_group
    home = torch.distributed.distributed_c10d

    @functools.wraps(make)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result = make(*args, **kwargs)
        if not undo.done:
            hooks.engine()
        return result

    undo.patch(home, "init_process_group", init_process_group)
    if torch.distributed.init_process_group is make:
        undo.patch(torch.distributed, "init_process_group", init_process_group)
    if torch.distributed.is_initialized():
        hooks.engine()


class _Model:
    """What is known of one model."""

    def __init__(self, bytes: int) -> None:
        self.bytes = bytes
        """Of all gradients that it reduces."""
        self.syncs = 0
        """Forward passes whose gradients are reduced."""
        self.buckets: _Buckets | None = None
        """The hook that it has from us."""
        self.is_hooked = False
        """Whether the program gave it a hook, or it was tried to give it ours."""


class _Models:
    """One hooking of DDP."""

    def __init__(self, torch: Any, undo: Undo, settings: Settings, collectives: Any) -> None:
        self._torch, self._undo, self._collectives = torch, undo, collectives
        self._passes = collectives.passes
        self._with_scopes = settings.collectives
        self._models: weakref.WeakKeyDictionary[Any, _Model] = weakref.WeakKeyDictionary()
        self._unscoped = 0
        """Bytes that the next backward pass reduces without scopes."""
        self._reduces = False
        """Whether the next backward pass reduces anything."""
        self._last: Any = None
        """The last one that did."""
        self._has_engine = False
        self._register: Any = None
        """How a hook is registered, without us."""

    def engine(self) -> None:
        """Knows the backward pass that is running, from now on: nobody else needs that."""
        if self._has_engine:
            return
        self._has_engine = True
        variable, passes, undo = self._torch.autograd.Variable, self._passes, self._undo
        base = type(variable._execution_engine)
        told = self._told_backward

        class Engine(base):  # type: ignore[misc, valid-type]
            def run_backward(self, *args: Any, **kwargs: Any) -> Any:
                if undo.done or passes.running is not None:
                    return base.run_backward(self, *args, **kwargs)
                passes.running = _hodo.current()
                try:
                    told()
                    return base.run_backward(self, *args, **kwargs)
                finally:
                    passes.running = None
                    passes.settle()

        undo.patch(variable, "_execution_engine", Engine())

    def _told_backward(self) -> None:
        unscoped, self._unscoped = self._unscoped, 0
        if self._reduces:
            self._reduces, self._last = False, self._passes.running
        if unscoped:
            _hodo.mark("reduced_bytes", unscoped, "summary", scopes=WHY)

    def forward(self, run: Any) -> Any:
        """A forward pass of a wrapped model, after which torch knows how long it reduced before."""
        undo, is_compiling = self._undo, self._collectives.is_compiling

        @functools.wraps(run)
        def forward(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return run(model, *args, **kwargs)
            reduces = self._torch.is_grad_enabled() and model.require_backward_grad_sync
            if undo.done or not reduces:
                return run(model, *args, **kwargs)
            known = self._known(model)
            result = run(model, *args, **kwargs)
            self._after(model, known)
            return result

        return forward

    def _known(self, model: Any) -> _Model:
        known = self._models.get(model)
        if known is None:
            told = model._get_ddp_logging_data()
            known = self._models[model] = _Model(int(told.get("total_parameter_size_bytes", 0)))
        if self._with_scopes and not known.is_hooked:
            self._give_hook(model, known)
        return known

    def _after(self, model: Any, known: _Model) -> None:
        if known.buckets is None:
            self._unscoped += known.bytes
        self._reduces = True
        step, known.syncs = known.syncs, known.syncs + 1
        if 0 < step <= TIMED_FIRST or (step and step % TIMED_EVERY == 0):
            self._tell_times(model._get_ddp_logging_data())

    def _tell_times(self, told: Any) -> None:
        """Torch's own figures, of the backward pass before."""
        last = self._last
        reduced_ns = told.get("backward_comm_time", 0)
        if last is None or reduced_ns <= 0:
            return
        overlapped_ns = told.get("backward_compute_comm_overlap_time", 0)
        with _hodo.attach(last):
            _hodo.mark("reduce_ms", reduced_ns / 1e6, "summary", by="torch, of some steps")
            _hodo.mark("reduce_overlapped_ms", overlapped_ns / 1e6, "summary")

    def _give_hook(self, model: Any, known: _Model) -> None:
        known.is_hooked = True
        buckets = self._buckets(model)
        try:
            self._register(model, model.process_group, buckets.plain())
        except Exception as error:
            _control._log().warning("the buckets of a model have no scopes: %r", error)
        else:
            known.buckets = buckets

    def _buckets(self, model: Any) -> _Buckets:
        backend = self._torch.distributed.get_backend(model.process_group)
        return _Buckets(self._collectives, self._undo, is_done_by_host=backend == "gloo")

    def register(self, run: Any) -> Any:
        """A hook of the program's own: it goes into ours, or gets scopes itself."""
        self._register = run

        @functools.wraps(run)
        def register_comm_hook(model: Any, state: Any, hook: Any) -> Any:
            if self._undo.done or not self._with_scopes:
                return run(model, state, hook)
            known = self._known_without_hook(model)
            if known.buckets is not None and known.buckets.is_default:
                known.buckets.use(state, hook)
                return None
            buckets = self._buckets(model)
            buckets.use(state, hook)
            result = run(model, state, buckets.named_as(hook))
            known.buckets = buckets
            return result

        return register_comm_hook

    def register_builtin(self, run: Any) -> Any:
        """A hook of torch's in C++, which excludes ours."""

        @functools.wraps(run)
        def register_builtin_comm_hook(model: Any, kind: Any) -> Any:
            known = None if self._undo.done else self._known_without_hook(model)
            if known is None or known.buckets is None or not known.buckets.is_default:
                return run(model, kind)
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

            is_halved = "FP16" in str(kind)
            hook = default_hooks.fp16_compress_hook if is_halved else default_hooks.allreduce_hook
            known.buckets.use(model.process_group, hook)
            return None

        return register_builtin_comm_hook

    def _known_without_hook(self, model: Any) -> _Model:
        before, self._with_scopes = self._with_scopes, False
        try:
            known = self._known(model)
        finally:
            self._with_scopes = before
        known.is_hooked = True
        return known


class _Buckets:
    """The communication hook of one model: a scope for each bucket, from its start to its end."""

    def __init__(self, collectives: Any, undo: Undo, *, is_done_by_host: bool) -> None:
        self._collectives, self._undo = collectives, undo
        self._is_done_by_host = is_done_by_host
        self._own: tuple[Any, Any] | None = None

    @property
    def is_default(self) -> bool:
        """Whether it does what torch does without a hook."""
        return self._own is None

    def use(self, state: Any, hook: Any) -> None:
        """Does what a hook of the program's does."""
        self._own = (state, hook)

    def plain(self) -> Any:
        """This as a function: torch looks at what is said of arguments, and knows one type."""
        return lambda state, bucket: self._hook(state, bucket)

    def named_as(self, hook: Any) -> Any:
        """This as a function that looks like another hook."""
        return functools.wraps(hook)(self.plain())

    def _hook(self, state: Any, bucket: Any) -> Any:
        """Reduces a bucket; what comes back is done when it is."""
        if self._undo.done:
            return self._reduced(state, bucket)
        tensor = bucket.buffer()
        attrs = {"tag": "ddp", "bytes": tensor.numel() * tensor.element_size()}
        collectives = self._collectives
        with collectives.quiet(), collectives.passes.where():
            if tensor.device.type != "cpu" and not self._is_done_by_host:
                # Done when the device has come to it, whose kernels say how long they took.
                with _hodo.scope("all_reduce", bucket.index(), **attrs):
                    return self._reduced(state, bucket)
            span = _hodo.begin("all_reduce", bucket.index(), **attrs)
            try:
                done = self._reduced(state, bucket)
            except BaseException as error:
                span.end(error)
                raise
            # Chained, so that torch waits for it: a program that ends meanwhile would be torn down.
            return done.then(self._chained(lambda reduced: _ended(span, reduced)))

    def _reduced(self, state: Any, bucket: Any) -> Any:
        if self._own is not None:
            return self._own[1](self._own[0], bucket)
        from torch import distributed

        tensor = bucket.buffer()
        # As torch does it, to the last bit.
        tensor.mul_(1.0 / state.size())
        work = distributed.all_reduce(tensor, group=state, async_op=True)
        return work.get_future().then(self._chained(lambda done: done.value()[0]))

    def _chained(self, run: Any) -> _Chained:
        return _Chained(self._collectives.passes.chained, run)


class _Chained:
    """What a thread of gloo's calls when a bucket is reduced, and then gives up.

    It does the latter after torch has gone on: where the interpreter ends meanwhile, it ends that thread,
    and with it the process. So backward passes wait for that.
    """

    def __init__(self, there: set[int], run: Any) -> None:
        self._there, self._run = there, run
        there.add(id(self))

    def __call__(self, future: Any) -> Any:
        return self._run(future)

    def __del__(self) -> None:
        self._there.discard(id(self))


def _ended(span: Any, reduced: Any) -> Any:
    """What a bucket was reduced to, after its scope has ended."""
    try:
        value = reduced.value()
    except BaseException as error:
        span.end(error)
        raise
    span.end()
    return value
