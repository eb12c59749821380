"""``hodo.sql``: what both engines say of a run is what its report says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import hodo
import pytest
import runs
from test_open import DATA, called

TRAINING = """
    import hodo, time

    hodo.init(app="training")
    for epoch in hodo.epochs(range(3)):
        for i in range(4):
            with hodo.scope("batch", i):
                with hodo.scope("forward"):
                    time.sleep(0.001)
                hodo.mark("loss", 1 / (i + 1))
    hodo.shutdown()
"""
SPANS = 3 + 12 + 12


def only(dir: Path) -> Path:
    (run,) = [path for path in dir.iterdir() if (path / "run.json").exists()]
    return run


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dir = tmp_path_factory.mktemp("training")
    runs.run(dir, TRAINING)
    return only(dir)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dir = tmp_path_factory.mktemp("gpu")
    called(dir, "import", str(DATA / "torch_profiler_h200_mlp.json.gz"))
    return only(dir)


@pytest.fixture(params=["duckdb", "datafusion"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both engines, the other out of reach."""
    name = str(request.param)
    pytest.importorskip(name)
    for other in {"duckdb", "datafusion"} - {name}:
        monkeypatch.setitem(sys.modules, other, None)
    return name


def test_sums_are_the_reports(training: Path, engine: str) -> None:
    run = hodo.open(training)
    query = "select path, count(*), sum(duration_ns) from spans group by path order by min(start_ns)"
    told = {path: (count, total) for path, count, total in run.sql(query).fetchall()}
    nodes = {"/".join(n["path"]): (n["count"], n["total_ns"]) for n in run.dict()["nodes"]}
    assert told.keys() == nodes.keys()
    for path, (count, total) in nodes.items():
        assert told[path][0] == count
        # A row is rounded to nanoseconds by itself, a path as a whole.
        assert int(told[path][1]) == pytest.approx(total, rel=0, abs=count)
    assert run.sql("select * from tree").fetchall() == run.tree().fetchall()
    assert hodo.sql("select count(*) from marks", training).fetchall() == [(12,)]
    newest = hodo.sql("select distinct run from spans", dir=training.parent)
    assert newest.fetchall() == [(training.name,)]


def test_every_table_and_view_is_there(gpu: Path, engine: str) -> None:
    run = hodo.open(gpu)
    for name in ("spans", "marks", "attrs", "kernels", "copies", "samples", "processes", "health", "tree"):
        answer = run.sql(f"select * from {name}")
        assert answer.columns == run.table(name).columns
        assert len(answer) == len(run.table(name))
    columns = {
        "steps": {"run", "name", "index", "start_ns", "duration_ns", "rank"},
        "slowest": {"run", "path", "duration_ns", "self_ns"},
        "kernels_by_scope": {"path", "kernel", "count", "total_ns"},
        "gpu_idle": {"device", "from_ns", "idle_ns", "path"},
    }
    for name, expected in columns.items():
        assert expected <= set(run.sql(f"select * from {name} limit 1").columns), name


def test_views_answer_the_common_questions(training: Path, gpu: Path, engine: str) -> None:
    run = hodo.open(training)
    steps = run.sql('select name, "index" from steps order by start_ns').fetchall()
    assert steps == [("epoch", 0), ("epoch", 1), ("epoch", 2)]
    slowest = [ns for (ns,) in run.sql("select duration_ns from slowest").fetchall()]
    assert slowest == sorted(slowest, reverse=True) and len(slowest) == SPANS
    run = hodo.open(gpu)
    kernels = run.kernels()
    at = {name: kernels.columns.index(name) for name in kernels.columns}
    sums: dict[tuple[str | None, str], int] = {}
    for row in kernels.fetchall():
        key = (row[at["path"]], row[at["short_name"]])
        sums[key] = sums.get(key, 0) + row[at["duration_ns"]]
    told = run.sql("select path, kernel, total_ns from kernels_by_scope").fetchall()
    assert {(path, kernel): total for path, kernel, total in told} == sums
    assert all(type(total) is int for *_, total in told)
    gaps = idle(kernels.fetchall(), at)
    told = run.sql("select device, from_ns, idle_ns from gpu_idle order by device, from_ns").fetchall()
    assert told == gaps and len(gaps) > 10


def idle(rows: list[tuple[Any, ...]], at: dict[str, int]) -> list[tuple[int, int, int]]:
    """The gaps between kernels by another way than the view's."""
    busy_until: dict[tuple[str, int], int] = {}
    gaps = []
    for row in sorted(rows, key=lambda row: row[at["start_ns"]]):
        who, start = (row[at["process"]], row[at["device"]]), row[at["start_ns"]]
        end = busy_until.get(who)
        if end is not None and start > end:
            gaps.append((row[at["device"]], end, start - end))
        busy_until[who] = max(end or 0, start + row[at["duration_ns"]])
    return sorted(gaps)


def test_answers_come_in_every_form(training: Path, engine: str) -> None:
    answer = hodo.sql("select name, duration_ns from spans order by start_ns", training)
    rows = answer.fetchall()
    assert len(answer) == len(rows) == SPANS
    assert str(answer).splitlines()[0].split() == ["name", "duration_ns"]
    assert "<table>" in answer._repr_html_()
    assert answer.fetchall() == rows, "a second time too"
    pytest.importorskip("pandas")
    assert list(answer.df().itertuples(index=False, name=None)) == rows
    pytest.importorskip("polars")
    assert answer.pl().rows() == rows
    pyarrow = pytest.importorskip("pyarrow")
    assert [tuple(row.values()) for row in answer.arrow().to_pylist()] == rows
    assert pyarrow.schema(answer).names == ["name", "duration_ns"]


def test_several_runs_are_one_below_the_other(
    training: Path, tmp_path: Path, engine: str
) -> None:
    runs.run(tmp_path, TRAINING)
    other = only(tmp_path)
    query = "select run, count(*) from spans group by run order by run"
    both = hodo.sql(query, [training, other]).fetchall()
    assert both == sorted([(training.name, SPANS), (other.name, SPANS)])
    paths = hodo.sql("select count(*) from tree", [training, other])
    assert paths.fetchall() == [(6,)]
    steps = hodo.sql("select count(*) from steps", [training, other])
    assert steps.fetchall() == [(6,)]
    with pytest.raises(ValueError, match="no run was named"):
        hodo.sql(query, [])


@pytest.mark.parametrize(
    "query",
    [
        "create table mine as select 1",
        "drop view tree",
        "insert into spans select * from spans",
        "copy (select 1) to '{file}'",
        "select * from '{file}'",
        "select * from read_csv('{file}')",
        "attach '{file}' as other",
        "set enable_external_access=true",
        "install httpfs",
        "select 1; select 2",
        "select * from secret",
    ],
)
def test_queries_only_read_and_only_the_run(
    training: Path, tmp_path: Path, engine: str, query: str
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    secret = pyarrow.table({"word": ["hidden"]})  # noqa: F841  A variable is not a table.
    file = tmp_path / "there.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="the query failed: "):
        hodo.sql(query.format(file=file), training)
    assert file.read_text() == "a,b\n1,2\n"


def test_a_run_that_is_there_twice_is_asked_once(
    training: Path, tmp_path: Path, engine: str
) -> None:
    shutil.copytree(training, tmp_path / "copy")
    with pytest.warns(RuntimeWarning, match="is there twice"):
        answer = hodo.sql("select count(*) as n from spans", [training, tmp_path / "copy"])
    assert answer.fetchall() == [(SPANS,)]


def test_a_folder_of_runs_is_all_of_them(training: Path, engine: str) -> None:
    answer = hodo.sql("select count(*) as n from spans", training.parent)
    assert answer.fetchall() == [(SPANS,)]


def test_a_damaged_run_is_told(training: Path, tmp_path: Path) -> None:
    called(training.parent, "pack", "--out", str(tmp_path / "pack"))
    (spans,) = (tmp_path / "pack/tables/spans").iterdir()
    spans.write_bytes(spans.read_bytes()[:100])
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        assert len(hodo.open(tmp_path / "pack").spans()) == 0


def test_a_wrong_query_names_the_tables(training: Path, engine: str) -> None:
    for query in ("select nothing from spans", "select * from nowhere", "selec 1", ""):
        with pytest.raises(ValueError, match="the tables are spans, marks"):
            hodo.sql(query, training)


# More than a second's work for any engine, in many small answers.
ENDLESS = "select a.id from spans a, spans b, spans c, spans d, spans e, spans f, spans g, spans h"


def test_a_query_that_takes_too_long_is_stopped(training: Path, engine: str) -> None:
    with pytest.raises(TimeoutError, match="longer than 0.2 s"):
        hodo.sql(ENDLESS, training, timeout_s=0.2)
    assert len(hodo.sql("select 1 as one", training, timeout_s=None)) == 1


def test_a_query_that_needs_too_much_is_stopped(training: Path, engine: str) -> None:
    large = "select a.id, b.id, c.id, d.path from spans a, spans b, spans c, spans d order by 4, 3, 2, 1"
    with pytest.raises(MemoryError, match="memory_bytes"):
        hodo.sql(f"select * from ({large})", training, timeout_s=None, memory_bytes=32 << 20)


def test_limits_that_make_no_sense_are_refused(training: Path, engine: str) -> None:
    for limits in ({"timeout_s": 0}, {"timeout_s": float("nan")}, {"memory_bytes": 0}):
        with pytest.raises(ValueError, match="s is "):
            hodo.sql("select 1", training, **limits)  # type: ignore[arg-type]


def test_without_an_engine_it_says_what_to_install(
    training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("duckdb", "datafusion"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'hodo\[sql\]'"):
        hodo.sql("select 1", training)


def test_a_query_reads_no_more_than_it_names(training: Path, engine: str) -> None:
    run = hodo.open(training)
    run.sql("select count(*) from kernels_by_scope")
    assert run._tables.keys() == {"kernels"}
    run.sql("select 1")
    assert run._tables.keys() == {"kernels"}


def test_sql_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys, hodo; assert not {'duckdb', 'datafusion', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
