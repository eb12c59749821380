"""Reads the tables of a run with other people's readers and compares them with its report.

parquet_readers.py FOLDER [--report REPORT.json] [--spark] [--hodo-sql PROGRAM]: each reader must
find the same rows, give the same answer to a question of its own making, and find the counts and
sums that the report has.
"""

import argparse
import json
import math
import subprocess
import tempfile
from collections import defaultdict

TABLES = ["spans", "marks", "attrs", "kernels", "copies", "samples", "processes", "health"]


# What each reader is asked: scopes of each path, and the time they took themselves.
SUMS = "select path, count(*) as n, sum(self_ns) as self_ns from {spans} group by path"


class Pyarrow:
    def rows(self, glob):
        return self._table(glob).to_pylist()

    def sums(self, glob):
        groups = self._table(glob).group_by("path").aggregate([([], "count_all"), ("self_ns", "sum")])
        return [(row["path"], row["count_all"], row["self_ns_sum"]) for row in groups.to_pylist()]

    def _table(self, glob):
        import pyarrow.dataset

        return pyarrow.dataset.dataset(glob.rsplit("/", 1)[0], format="parquet").to_table()


class Polars:
    def rows(self, glob):
        import polars

        return polars.read_parquet(glob).to_dicts()

    def sums(self, glob):
        import polars

        # A sum of nothing is 0 to polars, and null to the others.
        own = polars.when(polars.col("self_ns").count() > 0).then(polars.col("self_ns").sum())
        groups = polars.scan_parquet(glob).group_by("path").agg(polars.len(), own.alias("self_ns"))
        return groups.collect().rows()


class DuckDb:
    def rows(self, glob):
        import duckdb

        found = duckdb.sql(f"select * from read_parquet('{glob}')")
        return [dict(zip(found.columns, row)) for row in found.fetchall()]

    def sums(self, glob):
        import duckdb

        return duckdb.sql(SUMS.format(spans=f"read_parquet('{glob}')")).fetchall()


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        self._spark = builder.getOrCreate()

    def rows(self, glob):
        return [row.asDict() for row in self._spark.read.parquet(glob).collect()]

    def sums(self, glob):
        self._spark.read.parquet(glob).createOrReplaceTempView("spans")
        return [tuple(row) for row in self._spark.sql(SUMS.format(spans="spans")).collect()]


class HodoSql:
    """`hodo sql`, which gives its rows as Parquet so that no bit is lost on the way."""

    def __init__(self, program, folder):
        self._program, self._folder = program, folder

    def rows(self, glob):
        return self._ask(f"select * from {glob.split('/')[-2]}")

    def sums(self, glob):
        return [tuple(row.values()) for row in self._ask(SUMS.format(spans="spans"))]

    def _ask(self, query):
        import pyarrow.parquet

        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            asked = [self._program, self._folder, query, "--format", "parquet", "-o", file.name]
            subprocess.run(asked, check=True)
            return pyarrow.parquet.read_table(file.name).to_pylist()


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


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--report")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--hodo-sql")
    return parser.parse_args()


def main():
    told = arguments()
    readers = {"pyarrow": Pyarrow(), "polars": Polars(), "duckdb": DuckDb()}
    if told.spark:
        readers["spark"] = Spark()
    if told.hodo_sql:
        readers["hodo sql"] = HodoSql(told.hodo_sql, told.folder)
    globs = {table: f"{told.folder}/tables/{table}/*.parquet" for table in TABLES}
    first = None
    for name, reader in readers.items():
        tables = {table: reader.rows(glob) for table, glob in globs.items()}
        if told.report:
            check(name, tables, json.load(open(told.report)))
        found = {table: plain(rows) for table, rows in tables.items()}
        found["sums"] = sorted((path, int(n), own) for path, n, own in reader.sums(globs["spans"]))
        first = first or found
        for what, rows in found.items():
            assert rows == first[what], (name, what)
    print("the same:", ", ".join(readers), {what: len(rows) for what, rows in first.items()})


main()
