"""Tables of a run, and what queries on them give."""

from __future__ import annotations

import array
from typing import Any, Literal, Protocol, TypeAlias

from hodo import _hodo

Format: TypeAlias = Literal["df", "polars", "arrow"]
Rows: TypeAlias = "list[tuple[Any, ...]]"

# Rows that are printed; of longer tables the first.
_SHOWN_ROWS = 20


class Source(Protocol):
    """What a table is made of."""

    @property
    def names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def rows(self, limit: int | None = None) -> Rows: ...
    def pandas(self) -> Any: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table:
    """Rows of a run or of a query. Prints its first rows and shows in notebooks.

    ``pyarrow.table(t)``, ``polars.DataFrame(t)``, ``duckdb.sql("from t")`` and all else that speaks
    the Arrow PyCapsule interface take it as it is; the tables of a run without a copy. Times are
    nanoseconds, since 1970 or long; what was not captured is missing.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._source.names)

    def df(self) -> Any:
        """As a pandas data frame."""
        return self._source.pandas()

    def pl(self) -> Any:
        """As a polars data frame."""
        from hodo import _frames

        return _frames.polars(self)

    def arrow(self) -> Any:
        """As a pyarrow table."""
        from hodo import _frames

        return _frames.arrow(self)

    def to(self, format: Format | None) -> Any:
        """As ``format`` says: ``"df"``, ``"polars"`` or ``"arrow"``; itself without one."""
        make = {None: lambda: self, "df": self.df, "polars": self.pl, "arrow": self.arrow}
        if format not in make:
            names = ", ".join(str(name) for name in make if name)
            raise ValueError(f"format is one of {names}, not {format!r}")
        return make[format]()

    def fetchall(self) -> Rows:
        """The rows, a tuple each; ``None`` where a value is missing."""
        return self._source.rows()

    def __len__(self) -> int:
        return len(self._source)

    def __bool__(self) -> bool:
        return True

    def __arrow_c_schema__(self) -> object:
        return self._source.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        from hodo import _show

        return _show.table_text(self.columns, self._source.rows(_SHOWN_ROWS), len(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from hodo import _show

        return _show.table_html(self.columns, self._source.rows(_SHOWN_ROWS), len(self))


class Recorded:
    """The columns of a run."""

    def __init__(self, columns: _hodo.Columns) -> None:
        self._columns = columns

    @property
    def names(self) -> list[str]:
        return self._columns.names

    def __len__(self) -> int:
        return len(self._columns)

    def rows(self, limit: int | None = None) -> Rows:
        columns = self._columns.buffers(limit=limit)
        return list(zip(*(_values(*column[1:]) for column in columns), strict=True))

    def pandas(self) -> Any:
        from hodo import _frames

        return _frames.pandas(self._columns)

    def __arrow_c_schema__(self) -> object:
        return self._columns.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)


def _values(kind: str, data: bytearray, bits: bytearray | None, texts: list[str] | None) -> list[Any]:
    values = array.array({"i8": "q", "f8": "d", "i4": "i"}[kind])
    values.frombytes(data)
    if texts is not None:
        return [texts[code] if code >= 0 else None for code in values]
    if bits is None:
        return values.tolist()
    return [value if bits[at >> 3] >> (at & 7) & 1 else None for at, value in enumerate(values)]
