"""Reads the tables of a run with other people's readers and compares them with its report.

parquet_readers.py FOLDER REPORT.json [spark]: each reader must find the same rows, and in them the
counts and sums that the report has.
"""

import json
import math
import sys
from collections import defaultdict

TABLES = ["spans", "marks", "attrs", "kernels", "copies", "samples", "processes", "health"]


def with_pyarrow(glob):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(glob.rsplit("/", 1)[0], format="parquet").to_table().to_pylist()


def with_polars(glob):
    import polars

    return polars.read_parquet(glob).to_dicts()


def with_duckdb(glob):
    import duckdb

    found = duckdb.sql(f"select * from read_parquet('{glob}')")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


def with_spark():
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    return lambda glob: [row.asDict() for row in spark.read.parquet(glob).collect()]


def plain(rows):
    """Rows in an order of their own, NaN equal to itself."""
    return sorted(repr(sorted(row.items())) for row in rows)


def check(reader, tables, report):
    spans = tables["spans"]
    assert len(spans) == report["spans"], (reader, len(spans), report["spans"])
    marks = sum(process["marks"] for process in report["processes"])
    assert len(tables["marks"]) == marks, reader
    work = sum(process["gpu"]["work"] for process in report["processes"])
    assert len(tables["kernels"]) + len(tables["copies"]) == work, reader
    assert len(tables["processes"]) == len(report["processes"]), reader

    by_path = defaultdict(lambda: [0, 0, 0])
    for span in spans:
        sums = by_path[span["path"]]
        if span["state"] in ("closed", "failed"):
            sums[0] += 1
        sums[1] += span["duration_ns"] or 0
        sums[2] += span["self_ns"] or 0
    seen = 0
    for node in report["nodes"]:
        path = "/".join(node["path"])
        if node["kind"] != "scope" or node["total_ns"] is None or path not in by_path:
            continue
        count, total, own = by_path[path]
        # Each span is rounded to the nanosecond by itself, the report's sums once.
        near = lambda a, b: math.isclose(a, b, rel_tol=1e-9, abs_tol=node["count"] + 1)
        assert count + node["open"] == node["count"], (reader, path, count, node["count"])
        assert near(total, node["total_ns"]), (reader, path, total, node["total_ns"])
        assert near(own, node["self_ns"]), (reader, path, own, node["self_ns"])
        seen += 1
    assert seen == len(by_path), (reader, seen, sorted(by_path))
    lost = sum(row["records"] for row in tables["health"] if row["what"] == "lost" and row["thread"] is None)
    assert lost == report["records"]["lost_records"], reader


def main():
    folder, report = sys.argv[1], json.load(open(sys.argv[2]))
    readers = {"pyarrow": with_pyarrow, "polars": with_polars, "duckdb": with_duckdb}
    if sys.argv[3:] == ["spark"]:
        readers["spark"] = with_spark()
    first = None
    for name, read in readers.items():
        tables = {table: read(f"{folder}/tables/{table}/*.parquet") for table in TABLES}
        check(name, tables, report)
        rows = {table: plain(rows) for table, rows in tables.items()}
        first = first or rows
        for table in TABLES:
            assert rows[table] == first[table], (name, table)
    print("the same:", ", ".join(readers), {table: len(rows) for table, rows in first.items()})


main()
