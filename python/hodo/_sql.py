"""Queries on runs, by an engine that is installed beside hodo."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from hodo import _hodo
from hodo._table import Rows, Table

# Queries that ask what tables there are need all of them.
_ASKING = {"show", "describe", "summarize", "information_schema", "duckdb_tables", "duckdb_columns"}
# The least that the engines start with.
_LEAST_BYTES = 32 << 20


class Limits(NamedTuple):
    """How much a query may take; ``None`` for as long as it needs."""

    timeout_s: float | None = 60.0
    memory_bytes: int = 2 << 30


def sql(query: str, runs: list[Any], limits: Limits = Limits()) -> Table:
    """The answer to ``query`` on the tables of ``runs``, one below the other."""
    if limits.timeout_s is not None and not limits.timeout_s > 0:
        raise ValueError(f"timeout_s is seconds from 0 on, or None for no limit, not {limits.timeout_s}")
    if limits.memory_bytes < _LEAST_BYTES:
        raise ValueError(f"memory_bytes is {_LEAST_BYTES} at least, not {limits.memory_bytes}")
    views = dict(_hodo.views())
    named = _named(query, views)
    tables = {name: [run.table(name) for run in runs] for name in _hodo.tables() if name in named}
    wanted = {name: text for name, text in views.items() if name in named}
    return Table(_engine()(query, tables, wanted, limits))


def _named(query: str, views: dict[str, str]) -> set[str]:
    """The tables and views that a query may mean, those that its views stand on too."""
    words = set(re.findall(r"\w+", query.casefold()))
    if words & _ASKING:
        return {*_hodo.tables(), *views}
    for name in words & views.keys():
        words |= set(re.findall(r"\w+", views[name]))
    return words


def _engine() -> Any:
    missing = []
    for name, engine in (("duckdb", _DuckDb), ("datafusion", _DataFusion)):
        try:
            __import__(name)
            return engine
        except ImportError as error:
            missing.append(str(error))
    raise ImportError(
        f"SQL needs duckdb or datafusion, and neither can be imported ({'; '.join(missing)}): "
        "`pip install 'hodo[sql]'`, or ask the program: `hodo sql`"
    )


def _below_each_other(name: str, parts: int) -> str:
    return " union all ".join(f'select * from "{name} {at}"' for at in range(parts))


def _refused(error: Exception) -> ValueError:
    tables = ", ".join([*_hodo.tables(), *(name for name, _ in _hodo.views())])
    return ValueError(f"the query failed: {error}\nthe tables are {tables}")


def _too_late(limits: Limits) -> TimeoutError:
    return TimeoutError(
        f"the query took longer than {limits.timeout_s} s and was stopped; timeout_s gives it more time, None any"
    )


def _too_large(limits: Limits, error: Exception) -> MemoryError:
    return MemoryError(
        f"the query needs more than {limits.memory_bytes} bytes; memory_bytes gives it more: {error}"
    )


@contextmanager
def _stopping(connection: Any, timeout_s: float | None) -> Iterator[None]:
    """Stops what a connection of duckdb does, once it took too long."""
    if timeout_s is None:
        yield
        return
    timer = threading.Timer(timeout_s, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        # Else it may be the last to hold the connection, and end it while the interpreter goes: an abort.
        timer.join()


def _in_time(batches: Any, limits: Limits) -> Iterator[Any]:
    """The batches of datafusion, which can only be left between two of them."""
    began = time.monotonic()
    for batch in batches:
        if limits.timeout_s is not None and time.monotonic() - began > limits.timeout_s:
            raise _too_late(limits)
        yield batch.to_pyarrow()


def _kept(answer: Any) -> Any:
    """Runs the query now, once: what goes wrong is said here, and what was found stays."""
    run = "materialize" if hasattr(answer, "materialize") else "execute"
    return getattr(answer, run)()


class _DuckDb:
    """What duckdb answered; it holds the answer, and gives it out in any form."""

    def __init__(
        self, query: str, tables: dict[str, list[Table]], views: dict[str, str], limits: Limits
    ) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        try:
            self._prepare(tables, views, limits)
            with _stopping(self._connection, limits.timeout_s):
                self._answer = _kept(self._connection.sql(self._only_reading(query)))
        except duckdb.InterruptException:
            raise _too_late(limits) from None
        except duckdb.OutOfMemoryException as error:
            raise _too_large(limits, error) from error
        except (duckdb.Error, ValueError) as error:
            raise _refused(error) from error

    def _prepare(
        self, tables: dict[str, list[Table]], views: dict[str, str], limits: Limits
    ) -> None:
        execute = self._connection.execute
        for name, parts in tables.items():
            if len(parts) == 1:
                self._connection.register(name, parts[0])
                continue
            for at, part in enumerate(parts):
                self._connection.register(f"{name} {at}", part)
            execute(f"create view {name} as {_below_each_other(name, len(parts))}")
        for name, text in views.items():
            execute(f'create view "{name} of duckdb" as {text}')
            columns = self._connection.sql(f'describe "{name} of duckdb"').fetchall()
            # Sums are wider in duckdb than in hodo, and would be floats in a frame.
            shown = (
                f'cast("{column}" as bigint) as "{column}"' if kind == "HUGEINT" else f'"{column}"'
                for column, kind, *_ in columns
            )
            execute(f'create view {name} as select {", ".join(shown)} from "{name} of duckdb"')
        # From here on a query sees the run and nothing else: no files, no network, no variables.
        for setting in (
            f"memory_limit='{limits.memory_bytes}B'",
            "temp_directory=''",
            "python_enable_replacements=false",
            "enable_external_access=false",
            "lock_configuration=true",
        ):
            execute(f"set {setting}")

    def _only_reading(self, query: str) -> Any:
        import duckdb

        statements = self._connection.extract_statements(query)
        if len(statements) != 1:
            raise ValueError(f"one query at a time, not {len(statements)}")
        if statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise ValueError(f"runs are only read, and this is {statements[0].type.name}")
        return query

    @property
    def names(self) -> list[str]:
        return list(self._answer.columns)

    def __len__(self) -> int:
        return int(self._answer.aggregate("count(*)").fetchall()[0][0])

    def rows(self, limit: int | None = None) -> Rows:
        answer = self._answer if limit is None else self._answer.limit(limit)
        return list(answer.fetchall())

    def pandas(self) -> Any:
        from hodo import _frames

        _frames.package("pandas", "df")
        return self._answer.df()

    def __arrow_c_schema__(self) -> object:
        from hodo import _frames

        return _frames.arrow(self._answer.limit(0)).schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.__arrow_c_stream__(requested_schema)


class _DataFusion:
    """What datafusion answered, which brings pyarrow."""

    def __init__(
        self, query: str, tables: dict[str, list[Table]], views: dict[str, str], limits: Limits
    ) -> None:
        import datafusion

        from hodo import _frames

        arrow = _frames.package("pyarrow", "arrow")
        # The views have an order, which a `limit` on them means.
        keep_order = {"datafusion.sql_parser.enable_subquery_sort_elimination": "false"}
        memory = datafusion.RuntimeEnvBuilder().with_disk_manager_disabled()
        memory = memory.with_fair_spill_pool(limits.memory_bytes)
        context = datafusion.SessionContext(datafusion.SessionConfig(keep_order), memory)
        reading = datafusion.SQLOptions()
        reading = reading.with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
        for name, parts in tables.items():
            for at, part in enumerate(parts):
                context.from_arrow(part, f"{name} {at}" if len(parts) > 1 else name)
            if len(parts) > 1:
                context.sql(f"create view {name} as {_below_each_other(name, len(parts))}")
        for name, text in views.items():
            context.sql(f"create view {name} as {text}")
        try:
            answer = context.sql_with_options(query, reading)
            batches = list(_in_time(answer.execute_stream(), limits))
            self._answer = arrow.Table.from_batches(batches, answer.schema())
        except TimeoutError:
            raise
        except Exception as error:  # What it raises is a plain Exception.
            if "Resources exhausted" in str(error):
                raise _too_large(limits, error) from error
            raise _refused(error) from error

    @property
    def names(self) -> list[str]:
        return list(self._answer.column_names)

    def __len__(self) -> int:
        return int(self._answer.num_rows)

    def rows(self, limit: int | None = None) -> Rows:
        answer = self._answer if limit is None else self._answer.slice(0, limit)
        return list(zip(*(column.to_pylist() for column in answer.columns), strict=True))

    def pandas(self) -> Any:
        from hodo import _frames

        _frames.package("pandas", "df")
        return self._answer.to_pandas()

    def __arrow_c_schema__(self) -> object:
        return self._answer.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.__arrow_c_stream__(requested_schema)
