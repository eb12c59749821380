"""Functions whose modules are read when they are first called: a program that only records pays for
nothing else. They are functions, not a ``__getattr__`` of the package: with one, the interpreter
looks up ``hodo.scope`` the slow way, which costs a third of a scope.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar, overload

    from hodo._table import Table
    from hodo._trace import Last, Path, Run, Where
    from hodo._window import Window

    Function = TypeVar("Function", bound=Callable[..., Any])
    Estimator = TypeVar("Estimator")


def bench(
    function: Callable[[], Any] | str,
    repeat: int = 10,
    warmup: int = 3,
    *,
    sync: Callable[[], Any] | None = None,
    tag: str | None = None,
    name: str | None = None,
    show: bool = True,
) -> Any:
    """Run ``function`` ``repeat`` times after ``warmup`` passes; record, print and return the times.

    ``sync`` is called at the end of each pass, inside the measured time: give
    ``torch.cuda.synchronize`` so that queued GPU work counts. With a name instead of a function it
    is a loop: ``for i in hodo.bench("matmul", repeat=10): ...``.
    """
    from hodo import _bench

    return _bench.bench(function, repeat, warmup, sync=sync, tag=tag, name=name, show=show)


def carry(function: Function) -> Function:
    """``function``, to be run on another thread inside the scope and the request that are current here.

    ::

        with hodo.scope("request"):
            executor.submit(hodo.carry(work), item)

    Coroutine functions and those that make generators stay what they are, and carry too; what reads a
    generator stays where it is.
    """
    from hodo import _carry

    return _carry.carry(function)


def child_env() -> dict[str, str]:
    """Variables that make a program join this run, under the current scope.

    ::

        subprocess.run(command, env=os.environ | hodo.child_env())
    """
    from hodo import _children

    return _children.child_env()


if TYPE_CHECKING:

    @overload
    def inference(
        function: Function, /, *, chunk_times: bool = False, **attrs: Any
    ) -> Function: ...
    @overload
    def inference(*, chunk_times: bool = False, **attrs: Any) -> Callable[[Function], Function]: ...
    def inference(function: Any = None, /, *, chunk_times: bool = False, **attrs: Any) -> Any: ...

else:

    def inference(
        function: Function | None = None, /, *, chunk_times: bool = False, **attrs: Any
    ) -> Any:
        """Make every call of a serving function a request, with its tokens and times.

        ::

            @hodo.inference(model="small")
            async def complete(prompt):
                async for token in engine.generate(prompt):
                    yield token

        For functions, coroutines, generators, async generators, and functions that return one of these,
        a stream object or a manager of one. The scope ``request`` is under the scope that called, has a
        ``request_id``, and stays open until its stream has ended, was closed, or is dropped unread, or
        its manager was left. Its summary marks
        are ``request_duration_ms``, of streams ``time_to_first_token_ms``, and where tokens are known
        ``input_tokens``, ``output_tokens``, ``total_tokens`` and ``tokens_per_second``: from
        :func:`tokens`, from a ``usage`` as OpenAI's, from ``generate`` of transformers, else from
        counting the parts of the stream; ``source`` says which.

        An argument ``request_id`` or ``traceparent`` of a call is read, and kept from a function that
        takes none.

        chunk_times: also mark every part of a stream with the time since the one before, ``chunk_ms``.
        attrs: attributes of every request.
        """
        from hodo import _inference

        decorate = _inference.Serving(attrs, chunk_times).decorate
        return decorate if function is None else decorate(function)


def request_id() -> str | None:
    """The id of the request around this code; None outside of requests."""
    from hodo import _request

    return _request.request_id()


def tokens(*, input: int | None = None, output: int | None = None) -> None:
    """Say how many tokens the request around this code took in or gave out; calls add up.

    What is said here goes before what hodo counts itself. Outside of requests it does nothing.
    """
    from hodo import _request

    _request.tokens(input, output)


def traceparent() -> str | None:
    """The header ``traceparent`` for what the current scope calls; None outside all scopes.

    ::

        requests.post(url, json=body, headers={"traceparent": hodo.traceparent()})

    It continues the trace that the request around this code came with; else that of the variable
    ``TRACEPARENT``; else it starts one.
    """
    from hodo import _request

    return _request.traceparent()


def window(
    kind: str = "pc-sampling",
    seconds: float | None = None,
    *,
    scope: str | None = None,
    mode: str | None = None,
) -> Window:
    """Look closer at the GPU for a while: where kernels stall and why, by scope and source line.

    ::

        hodo.init(gpu="pc-sampling")
        ...
        with hodo.window("pc-sampling"):
            train_step(batch)

    Never raises because of the machine: where sampling is not possible the window is inert, the
    reason is logged and in its ``reason``. Open it after the first steps, not while a CUDA graph is
    being captured. The program is slower inside; how long the window took is in :func:`health`.

    kind: ``"pc-sampling"``.
    seconds: return at once and close after so long; without it the ``with`` block or
        ``Window.end()`` closes.
    scope: keep only work launched inside scopes of this name, at any depth, on the launching
        thread. The rest is sampled too, and counted.
    mode: ``"serialized"`` (the default) runs kernels one after another, so every sample has its
        launch and its scope; ``"continuous"`` lets them overlap, and all samples belong to the scope
        that is innermost where the window opens.
    """
    from hodo import _window

    return _window.window(kind, seconds, scope, mode)


def open(run: Path | None = None, *, dir: Path | None = None) -> Run:
    """A run to look into: its tree, its tables, queries and plots.

    ::

        run = hodo.open()
        print(run)
        run.spans().df()
        run.sql("select path, total_ns from tree order by total_ns desc")

    run: a run's folder or the beginning of its id, packed or as it was recorded; the newest in
        ``dir`` if left out.
    dir: the folder that runs are in; ``HODO_DIR`` or ``.hodo`` if left out.
    """
    from hodo import _trace

    return _trace.open(run, dir=dir)


def sql(
    query: str,
    run: Path | Iterable[Path] | None = None,
    *,
    dir: Path | None = None,
    timeout_s: float | None = 60.0,
    memory_bytes: int = 2 << 30,
) -> Table:
    """What a query on a run gives, with the tables and views that ``hodo sql`` has.

    ::

        hodo.sql("select name, \\"index\\", duration_ns from slowest limit 10").df()

    Needs duckdb or datafusion: ``pip install 'hodo[sql]'``. Queries only read, and only runs.

    query: one query, in the words of the engine. The tables are ``spans``, ``marks``, ``attrs``,
        ``kernels``, ``copies``, ``samples``, ``processes`` and ``health``, the views ``tree``,
        ``steps``, ``slowest``, ``kernels_by_scope`` and ``gpu_idle``.
    run: as in :func:`open`, a folder of runs, or several, whose rows ``run`` tells apart.
    dir: the folder that runs are in; ``HODO_DIR`` or ``.hodo`` if left out.
    timeout_s: longest that the query may take, then a ``TimeoutError``; ``None`` for any time.
        datafusion can only be stopped between two parts of its answer.
    memory_bytes: most that the engine may hold beside the tables, else a ``MemoryError``.
    """
    from hodo import _trace

    return _trace.sql(query, run, dir=dir, timeout_s=timeout_s, memory_bytes=memory_bytes)


def trace(
    run: Path | None = None,
    format: str = "tree",
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    scope: str | None = None,
    dir: Path | None = None,
) -> Any:
    """What a run recorded, open scopes included.

    run: a run's folder or the beginning of its id; this process's own run if left out, or with
        ``dir`` the newest there.
    format: ``"tree"``, a :class:`Run` that prints and shows in notebooks; ``"dict"`` and
        ``"json"``, all that ``hodo report --json`` prints; ``"df"``, ``"polars"`` and ``"arrow"``, a
        row for each scope.
    name: scopes whose name contains this, or fits it with ``*`` and ``?``, and what is inside them.
    where: scopes with such attributes, and what is inside them: ``"variant=beam"``, ``"index>100"``,
        several of these, or a dict of values.
    last: of all these the last 100 (``100``), or those open in the last ten seconds (``"10s"``).
    scope: a scope's id, and what is inside it.
    dir: the folder that runs are in; ``HODO_DIR`` or ``.hodo`` if left out.
    """
    from hodo import _trace

    return _trace.trace(run, format, name=name, where=where, last=last, scope=scope, dir=dir)


def report(
    run: Path | None = None,
    *,
    name: str | None = None,
    where: Where | None = None,
    last: Last | None = None,
    dir: Path | None = None,
) -> Run | None:
    """Print what ``hodo report`` prints; in a notebook show it. The arguments are :func:`trace`'s."""
    from hodo import _trace

    return _trace.report(run, name=name, where=where, last=last, dir=dir)


def wrap(estimator: Estimator) -> Estimator:
    """Make a scikit-learn estimator, and those inside it, record: ``fit``, ``predict``, ``score`` and the like.

    ::

        search = hodo.wrap(GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid))

    The same object comes back. It stays an instance of its class, and so do its clones and copies,
    which record too. :func:`profile` does this to every estimator.

    A pickle of it needs hodo where it is read: :func:`unwrap` it before you keep one.
    """
    from hodo import _estimators

    made: Estimator = _estimators.wrap(estimator)
    return made


def unwrap(estimator: Estimator) -> Estimator:
    """Undo :func:`wrap`, for an estimator and those inside it; the same object comes back."""
    from hodo import _estimators

    made: Estimator = _estimators.unwrap(estimator)
    return made
