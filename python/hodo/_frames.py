"""Tables of pandas, polars and pyarrow, which are imported only here."""

from __future__ import annotations

import importlib
from typing import Any

from hodo import _hodo


def package(name: str, format: str) -> Any:
    """A package that is there perhaps."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"format={format!r} needs {name}, which cannot be imported ({error}): "
            f"`pip install {name}`, or take format='dict'"
        ) from error


def polars(table: object) -> Any:
    return package("polars", "polars").DataFrame(table)


def arrow(table: object) -> Any:
    return package("pyarrow", "arrow").table(table)


def pandas(columns: _hodo.Columns) -> Any:
    """A frame of its own: without pyarrow, and free to be changed."""
    frames, numpy = package("pandas", "df"), package("numpy", "df")

    def series(kind: str, data: bytearray, bits: bytearray | None, texts: list[str] | None) -> Any:
        values = numpy.frombuffer(data, kind)
        if texts is not None:
            return frames.Categorical.from_codes(values, categories=texts)
        if bits is None:
            return values
        there = numpy.unpackbits(numpy.frombuffer(bits, "u1"), count=len(values), bitorder="little")
        if kind == "f8":
            return numpy.where(there == 0, numpy.nan, values)
        return frames.arrays.IntegerArray(values, there == 0)

    return frames.DataFrame({c[0]: series(*c[1:]) for c in columns.buffers()})
