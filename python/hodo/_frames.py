"""Columns as tables of pandas, polars and pyarrow, which are imported only here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

# Name, kind as numpy writes it, bytes, a byte a row where values can be missing, texts of codes.
Column = tuple[str, str, bytearray, "bytearray | None", "list[str] | None"]


def table(columns: list[Column], format: str) -> Any:
    """The columns as ``format`` says."""
    make: dict[str, Callable[[list[Column]], Any]] = {
        "df": _pandas,
        "polars": _polars,
        "arrow": _arrow,
    }
    if format not in make:
        raise ValueError(f"format is one of {', '.join(make)}, not {format!r}")
    return make[format](columns)


def _package(name: str, format: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"format={format!r} needs {name}, which cannot be imported ({error}): "
            f"`pip install {name}`, or take format='dict'"
        ) from error


def _pandas(columns: list[Column]) -> Any:
    pandas, numpy = _package("pandas", "df"), _package("numpy", "df")

    def series(kind: str, data: bytearray, valid: bytearray | None, texts: list[str] | None) -> Any:
        values = numpy.frombuffer(data, kind)
        if texts is not None:
            return pandas.Categorical.from_codes(values, categories=texts)
        if valid is None:
            return values
        missing = numpy.frombuffer(valid, "u1") == 0
        if kind == "f8":
            return numpy.where(missing, numpy.nan, values)
        return pandas.arrays.IntegerArray(values, missing)

    return pandas.DataFrame({c[0]: series(*c[1:]) for c in columns})


def _polars(columns: list[Column]) -> Any:
    polars, numpy = _package("polars", "polars"), _package("numpy", "polars")

    def series(kind: str, data: bytearray, valid: bytearray | None, texts: list[str] | None) -> Any:
        values = polars.Series(numpy.frombuffer(data, kind))
        if texts is not None:
            known = polars.Series(texts, dtype=polars.String)
            places = polars.select(polars.when(values >= 0).then(values)).to_series()
            return known.gather(places.cast(polars.UInt32)).cast(polars.Categorical)
        if valid is None:
            return values
        there = polars.Series(numpy.frombuffer(valid, "u1")) != 0
        return polars.select(polars.when(there).then(values)).to_series()

    return polars.DataFrame([series(*c[1:]).alias(c[0]) for c in columns])


def _arrow(columns: list[Column]) -> Any:
    arrow, compute = _package("pyarrow", "arrow"), _package("pyarrow.compute", "arrow")
    kinds = {
        "i8": arrow.int64(),
        "u8": arrow.uint64(),
        "u4": arrow.uint32(),
        "f8": arrow.float64(),
        "i4": arrow.int32(),
    }

    def numbers(kind: Any, data: bytearray, bits: Any = None) -> Any:
        rows = len(data) // (kind.bit_width // 8)
        return arrow.Array.from_buffers(kind, rows, [bits, arrow.py_buffer(data)])

    def array(kind: str, data: bytearray, valid: bytearray | None, texts: list[str] | None) -> Any:
        if texts is not None:
            codes = numbers(kinds[kind], data)
            there = compute.greater_equal(codes, 0)
            codes = compute.if_else(there, codes, None)
            return arrow.DictionaryArray.from_arrays(codes, arrow.array(texts, arrow.string()))
        if valid is None:
            return numbers(kinds[kind], data)
        there = compute.not_equal(numbers(arrow.uint8(), valid), 0)
        return numbers(kinds[kind], data, there.buffers()[1])

    return arrow.table({c[0]: array(*c[1:]) for c in columns})
