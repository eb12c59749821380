"""``hodo.open``: a run's tables, by Arrow and by hand, its plots and its verdict."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hodo
import pytest
import runs

TRAINING = """
    import hodo, time

    hodo.init(app="training")
    for epoch in hodo.epochs(range(2)):
        for i in range(5):
            with hodo.scope("batch", i, variant="beam" if i % 2 else "greedy"):
                with hodo.scope("forward $x^$ 模型"):
                    time.sleep(0.001)
                hodo.mark("loss", 1 / (i + 1), rows=i)
    hodo.mark("done", "yes", kind="summary")
    hodo.shutdown()
"""
SPANS = 2 + 10 + 10
DATA = Path(__file__).resolve().parents[2] / "crates" / "hodo-convert" / "tests" / "data"


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dir = tmp_path_factory.mktemp("training")
    runs.run(dir, TRAINING)
    (run,) = [path for path in dir.iterdir() if (path / "run.json").exists()]
    return run


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with kernels and copies."""
    dir = tmp_path_factory.mktemp("gpu")
    called(dir, "import", str(DATA / "torch_profiler_h200_mlp.json.gz"))
    (run,) = [path for path in dir.iterdir() if (path / "run.json").exists()]
    return run


def called(dir: Path, *arguments: str) -> str:
    command = [str(runs.PROGRAM), *arguments]
    done = subprocess.run(command, cwd=dir, env=runs.environment(dir), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_by_folder_by_prefix_the_newest_and_packed(
    training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "packed"
    called(tmp_path, "pack", str(training), "--out", str(packed))
    monkeypatch.setenv("HODO_DIR", str(training.parent))
    opened = [hodo.open(training), hodo.open(training.name[:17]), hodo.open(), hodo.open(packed)]
    for run in opened:
        assert run.id == training.name
        assert run.dict()["spans"] == SPANS
        assert run.spans().fetchall() == opened[0].spans().fetchall()
        assert run.tree().fetchall() == opened[0].tree().fetchall()
    assert Path(opened[3].folder) == packed
    assert str(opened[0]).startswith("training  finished")
    assert "<table>" in opened[0]._repr_html_()
    with pytest.raises(FileNotFoundError, match="no run named `zzz`"):
        hodo.open("zzz")
    with pytest.raises(ValueError, match="`scopes` is no table: spans, marks, attrs"):
        hodo.open(training).table("scopes")


def test_a_program_opens_its_own_run_as_it_stands(tmp_path: Path) -> None:
    code = """
        import hodo

        hodo.init(app="own", flush_interval=60)
        with hodo.scope("done"):
            pass
        with hodo.scope("open"):
            names = hodo.open().spans().fetchall()
        print(len(names))
    """
    assert runs.run(tmp_path, code).out.strip() == "2"


def test_what_was_flushed_is_read_at_once(tmp_path: Path) -> None:
    code = """
import threading
import hodo

hodo.init()

def work():
    for _ in range(400):
        with hodo.scope("work"):
            pass

for _ in range(5):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hodo.flush(60)
    print(len(hodo.open(hodo.health()["run"]).spans().fetchall()))
"""
    assert runs.run(tmp_path, code).out.split() == ["1600", "3200", "4800", "6400", "8000"]


def test_the_tree_is_the_reports(training: Path) -> None:
    run = hodo.open(training)
    nodes = [
        (
            "/".join(node["path"]), node["depth"], node["name"], node["count"], node["total_ns"],
            node["self_ns"], *(node["durations"][k] for k in ("mean_ns", "p50_ns", "p95_ns", "max_ns")),
            node["cpu"]["total_ns"], None,
        )
        for node in run.dict()["nodes"]
    ]
    assert [row[1:] for row in run.tree().fetchall()] == nodes


def test_tables_print_and_stay_text(tmp_path: Path, training: Path) -> None:
    tree = hodo.open(training).tree()
    lines = str(tree).splitlines()
    assert lines[0].split() == tree.columns
    assert lines[-1] == f"{len(tree)} rows"
    assert str(hodo.open(training).spans()).splitlines()[-1] == f"{SPANS} rows, of which 20 are shown"
    code = """
        import hodo
        hodo.init(app="hostile")
        for name in ("<script>alert(1)</script>", "\\x1b[2Jgone", "x" * 5000):
            with hodo.scope(name):
                pass
        hodo.shutdown()
    """
    runs.run(tmp_path, code)
    spans = hodo.open(dir=tmp_path).spans()
    assert "\x1b" not in str(spans) and "<script>" not in spans._repr_html_()
    assert "&lt;script&gt;" in spans._repr_html_()
    assert max(map(len, str(spans).splitlines())) < 1000


def test_filters_hold_for_every_table(training: Path) -> None:
    part = hodo.trace(training, where="variant=beam")
    assert len(part.spans()) == 8
    assert len(part.marks()) == 4
    assert len(part.table("attrs")) == 4
    assert len(part.processes()) == 1
    assert part.verdict() is None
    assert len(hodo.open(training).marks()) == 11


def test_the_verdict_is_the_reports(gpu: Path) -> None:
    verdict = hodo.open(gpu).verdict()
    assert verdict is not None
    assert verdict == runs.report(gpu.parent)["verdict"]


def test_kernels_and_copies_add_up_to_the_report(gpu: Path) -> None:
    run = hodo.open(gpu)
    document = runs.report(gpu.parent)
    kernels, copies = run.kernels(), run.copies()
    durations = [row[kernels.columns.index("duration_ns")] for row in kernels.fetchall()]
    work = document["gpu"]["all"]
    assert len(kernels) == work["kernels"] > 100
    assert sum(durations) == pytest.approx(work["kernel_ns"], rel=0, abs=len(kernels))
    starts = [row[kernels.columns.index("start_ns")] for row in kernels.fetchall()]
    assert starts == sorted(starts)
    kinds = {row[copies.columns.index("kind")] for row in copies.fetchall()}
    assert kinds == {"set", "wait"}


TABLES = ["tree", "spans", "marks", "attrs", "kernels", "copies", "samples", "processes", "health"]


@pytest.mark.parametrize("name", TABLES)
def test_arrow_libraries_take_every_table(gpu: Path, training: Path, name: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for folder in (gpu, training):
        table = hodo.open(folder).table(name)
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
        arrow = pyarrow.table(table)
        arrow.validate(full=True)
        assert arrow.to_pylist() == rows
        assert pyarrow.schema(table) == arrow.schema
        kinds = {str(column.type).split("<")[0] for column in arrow.columns}
        assert kinds <= {"int64", "double", "dictionary"}
        polars = pytest.importorskip("polars")
        assert polars.DataFrame(table).to_dicts() == rows
        assert list(polars.from_arrow(table)) == rows
        pandas = pytest.importorskip("pandas")
        assert len(pandas.DataFrame.from_arrow(table)) == len(rows)
        duckdb = pytest.importorskip("duckdb")
        it = table
        assert duckdb.sql("select count(*) from it").fetchall() == [(len(it),)]
        with duckdb.connect() as connection:
            connection.register("it", table)
            names = ", ".join(f'"{column}"' for column in table.columns)
            assert connection.sql(f"select {names} from it").fetchall() == table.fetchall()


def test_a_query_leaves_no_thread_behind(training: Path) -> None:
    pytest.importorskip("duckdb")
    code = f"""
        import threading, hodo
        for _ in range(20):
            hodo.open({str(training)!r}).sql("select count(*) from spans").fetchall()
            assert threading.enumerate() == [threading.main_thread()]
    """
    runs.run(training.parent, code)


def test_arrow_needs_no_pyarrow(training: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    code = f"""
        import sys
        sys.modules["pyarrow"] = None
        import duckdb, hodo, polars
        spans = hodo.open({str(training)!r}).spans()
        assert polars.DataFrame(spans).height == duckdb.sql("from spans").shape[0] == {SPANS}
        assert hodo.open({str(training)!r}).sql("select count(*) from spans").fetchall() == [({SPANS},)]
    """
    runs.run(training.parent, code)


def test_a_pyarrow_table_shares_the_columns_and_outlives_them(training: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = hodo.open(training).spans()
    one, other = pyarrow.table(table), pyarrow.table(table)

    def addresses(of: Any) -> list[int]:
        column = of.column("duration_ns").chunk(0)
        return [buffer.address for buffer in column.buffers() if buffer is not None]

    assert addresses(one) == addresses(other)
    expected = one.to_pylist()
    del table, one
    gc.collect()
    assert other.to_pylist() == expected


# The structures of the Arrow C interface, as its page has them.
Pointer = ctypes.c_void_p
Release = ctypes.CFUNCTYPE(None, Pointer)


class Schema(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", Pointer),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
    ("release", Pointer), ("private_data", Pointer),
]


class Array(ctypes.Structure):
    pass


Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(Pointer)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
    ("release", Pointer), ("private_data", Pointer),
]


class Stream(ctypes.Structure):
    _fields_ = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, Pointer)),
        ("release", Pointer), ("private_data", Pointer),
    ]


def released(thing: Schema | Array | Stream) -> None:
    """Releases it as a consumer does, who then finds it marked as released."""
    Release(thing.release)(ctypes.addressof(thing))
    assert thing.release is None


def held(capsule: object, name: bytes) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = Pointer, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, name))


def test_the_c_interface_by_hand(training: Path) -> None:
    table = hodo.open(training).spans()
    rows = table.fetchall()
    capsule = table.__arrow_c_stream__()
    stream = Stream.from_address(held(capsule, b"arrow_array_stream"))
    schema, array, end = Schema(), Array(), Array()
    at = ctypes.addressof(stream)
    assert stream.get_schema(at, ctypes.addressof(schema)) == 0
    assert stream.get_next(at, ctypes.addressof(array)) == 0
    assert stream.get_next(at, ctypes.addressof(end)) == 0
    assert end.release is None, "one piece, then the end"
    assert stream.get_last_error(at) is None
    released(stream)
    del capsule, table  # A capsule whose stream was released does not do it again.
    gc.collect()
    assert (schema.format, schema.n_children, array.n_children) == (b"+s", len(rows[0]), len(rows[0]))
    assert (array.length, array.null_count, array.n_buffers) == (SPANS, 0, 1)
    fields = {schema.children[i].contents.name.decode(): i for i in range(schema.n_children)}
    kinds = {name: schema.children[i].contents.format for name, i in fields.items()}
    assert (kinds["id"], kinds["name"]) == (b"l", b"i")
    # A consumer may move a child out and release it by itself, before or after the rest.
    child = array.children[fields["duration_ns"]].contents
    moved = Array.from_buffer_copy(child)
    child.release = None
    released(array)
    released(schema)
    values = (ctypes.c_int64 * SPANS).from_address(moved.buffers[1])
    assert list(values) == [row[fields["duration_ns"]] for row in rows]
    released(moved)


def test_what_nobody_takes_is_released_with_its_capsule(tmp_path: Path) -> None:
    code = """
        import gc, hodo
        hodo.init(app="many", telemetry=None)
        for i in range(20_000):
            with hodo.scope("step", i):
                pass
        hodo.shutdown()
        run = hodo.open()
        def kilobytes():
            return int(open("/proc/self/statm").read().split()[1]) * 4
        def once():
            table = hodo.trace(dir=None, run=run.folder).spans()
            table.__arrow_c_stream__(), table.__arrow_c_schema__()
            return table.__arrow_c_stream__()
        for _ in range(5):
            once()
        before = kilobytes()
        for _ in range(40):
            once()
        gc.collect()
        print(kilobytes() - before)
    """
    grown = int(runs.run(tmp_path, code).out)
    # A table of these is 4 MB.
    assert grown < 40_000, f"{grown} kB more after 40 tables"


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def drawn(axes: Any, tmp_path: Path) -> None:
    axes.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_plots_draw_what_the_tables_say(training: Path, tmp_path: Path, pyplot: Any) -> None:
    run = hodo.open(training)
    axes = run.plot_tree()
    drawn(axes, tmp_path)
    own = sorted(row[run.tree().columns.index("self_ns")] / 1e6 for row in run.tree().fetchall())
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(own)
    assert run.plot_tree(axes, top=1) is axes
    axes = run.plot_marks("loss")
    drawn(axes, tmp_path)
    (line,) = axes.lines
    assert list(line.get_ydata()) == [1 / (i + 1) for i in range(5)] * 2
    pytest.importorskip("duckdb")
    axes = run.plot_steps()
    drawn(axes, tmp_path)
    assert [list(line.get_xdata()) for line in axes.lines] == [[0, 1]]
    before = pyplot.get_fignums()
    for plot in (
        lambda: run.plot_marks("done"),
        lambda: run.plot_samples("gpu.power"),
        run.plot_kernels,
        lambda: run.plot_tree(top=0),
    ):
        with pytest.raises(ValueError, match="nothing to draw of"):
            plot()
    assert pyplot.get_fignums() == before, "no empty figure is left"


def test_kernels_are_drawn(gpu: Path, tmp_path: Path, pyplot: Any) -> None:
    axes = hodo.open(gpu).plot_kernels(top=5)
    drawn(axes, tmp_path)
    assert len(axes.patches) == 5


def test_samples_are_drawn(tmp_path: Path, pyplot: Any) -> None:
    code = """
        import hodo, time
        hodo.init(app="sampled")
        with hodo.scope("wait"):
            while hodo.health()["telemetry"]["rounds"] < 10:
                time.sleep(0.01)
        hodo.shutdown()
    """
    runs.run(tmp_path, code, HODO_TELEMETRY="50ms")
    run = hodo.open(dir=tmp_path)
    drawn(run.plot_samples("memory.used"), tmp_path)
    with pytest.raises(ValueError, match="several units"):
        run.plot_samples("*")


def test_without_matplotlib_a_plot_says_what_to_install(
    training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib.*pip install 'hodo\[plot\]'"):
        hodo.open(training).plot_tree()


def test_nothing_of_this_is_read_when_hodo_is_imported() -> None:
    code = "import sys, hodo; print(*[m for m in sys.modules if m.startswith('hodo.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"hodo._trace", "hodo._table", "hodo._sql", "hodo._plot"} & set(done.stdout.split())


def test_run_and_table_are_names_of_the_package(training: Path) -> None:
    run = hodo.open(training)
    assert isinstance(run, hodo.Run) and isinstance(run.spans(), hodo.Table)
    assert isinstance(hodo.trace(training), hodo.Run)
    assert json.loads(run.json()) == run.dict()
    assert "open" not in hodo.__all__
