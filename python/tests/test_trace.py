"""Reading runs in Python: every format says what ``hodo report --json`` says."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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
            with hodo.scope("batch", i, variant="beam" if i % 2 else "greedy", ok=i > 2):
                with hodo.scope("forward"):
                    time.sleep(0.001)
                hodo.mark("loss", 1 / (i + 1), rows=i)
    hodo.mark("done", "yes", kind="summary")
    try:
        with hodo.scope("fails"):
            raise ValueError
    except ValueError:
        pass
    hodo.shutdown()
"""
SPANS = 2 + 10 + 10 + 1


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dir = tmp_path_factory.mktemp("training")
    runs.run(dir, TRAINING)
    return dir


def newest(dir: Path) -> Path:
    """The only run there."""
    (run,) = [path for path in dir.iterdir() if (path / "run.json").exists()]
    return run


def test_the_document_is_what_the_program_prints(training: Path) -> None:
    printed = runs.report(training)
    assert hodo.trace(dir=training, format="dict") == printed
    assert json.loads(hodo.trace(dir=training, format="json")) == printed
    assert printed["spans"] == SPANS


def test_the_newest_is_a_programs_not_a_monitors(training: Path, tmp_path: Path) -> None:
    shutil.copytree(training, tmp_path, dirs_exist_ok=True)
    alone = tmp_path / "20991231-000000-hodo-monitor-000001"
    (alone / "machine-host-01234567").mkdir(parents=True)
    about = {"format": 1, "id": alone.name, "app": "hodo monitor", "start_ns": 4102358400 * 10**9}
    (alone / "run.json").write_text(json.dumps(about))
    assert hodo.trace(dir=tmp_path, format="dict")["spans"] == SPANS
    for run in tmp_path.iterdir():
        if run != alone and run.is_dir():
            shutil.rmtree(run)
    assert hodo.trace(dir=tmp_path, format="dict")["spans"] == 0, "there is no other"


@pytest.mark.parametrize(
    ("filters", "options"),
    [
        ({"name": "batch"}, ["--name=batch"]),
        ({"name": "f*d"}, ["--name=f*d"]),
        ({"where": "variant=beam"}, ["--where=variant=beam"]),
        ({"where": ["variant=beam", "index>1"]}, ["--where=variant=beam", "--where=index>1"]),
        ({"where": {"variant": "greedy", "ok": True}}, ["--where=variant=greedy", "--where=ok=true"]),
        ({"last": 3}, ["--last=3"]),
        ({"last": "4ms"}, ["--last=4ms"]),
        ({"name": "nowhere"}, ["--name=nowhere"]),
    ],
)
def test_filters_are_those_of_the_program(
    training: Path, filters: dict[str, Any], options: list[str]
) -> None:
    printed = runs.report(training, *options)
    assert hodo.trace(dir=training, format="dict", **filters) == printed
    pandas = pytest.importorskip("pandas")
    frame = hodo.trace(dir=training, format="df", **filters)
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == printed["spans_shown"]


def test_a_run_by_folder_by_prefix_and_the_newest(training: Path) -> None:
    run = newest(training)
    for trace in (
        hodo.trace(run),
        hodo.trace(str(run)),
        hodo.trace(run.name[:17], dir=training),
        hodo.trace(dir=str(training)),
    ):
        assert trace.dict()["run"]["id"] == run.name
        assert Path(trace.folder) == run


def sums(document: dict[str, Any]) -> dict[str, tuple[int, int, int | None, int]]:
    """Count, time, CPU time and overhead of every path."""
    return {
        "/".join(node["path"]): (
            node["count"],
            node["total_ns"],
            node["cpu"]["total_ns"],
            node["overhead_ns"],
        )
        for node in document["nodes"]
        if node["kind"] == "scope"
    }


def test_a_frame_adds_up_to_the_report(training: Path) -> None:
    pytest.importorskip("pandas")
    frame = hodo.trace(dir=training, format="df")
    by_path = frame.groupby("path", observed=True)
    told = by_path.agg(
        count=("id", "size"),
        total=("duration_ns", "sum"),
        cpu=("cpu_ns", "sum"),
        overhead=("overhead_ns", "sum"),
    )
    expected = sums(runs.report(training))
    assert {str(path) for path in told.index} == expected.keys()
    for path, *numbers in told.itertuples():
        count, *times = expected[path]
        assert numbers[0] == count
        # A row is rounded to nanoseconds by itself, a path as a whole.
        assert numbers[1:] == [pytest.approx(time, rel=0, abs=count) for time in times], path
    batch = frame[frame["name"] == "batch"]
    assert list(batch["index"]) == [0, 1, 2, 3, 4] * 2
    assert json.loads(batch["attributes"].iloc[3]) == {"ok": True, "variant": "beam"}
    assert set(frame["state"]) == {"closed", "failed"}
    assert frame["start_ns"].is_monotonic_increasing
    by_id = frame.set_index("id")
    for row in frame.itertuples():
        above = None if row.depth == 0 else by_id.loc[row.parent]
        assert above is None or (above.path + "/" + row.name == row.path)
    frame.loc[0, "duration_ns"] = 0  # What a program is given is its own to change.


def test_polars_and_arrow_hold_the_same_rows(training: Path) -> None:
    pytest.importorskip("pandas")
    frame = hodo.trace(dir=training, format="df").astype(object)
    expected = frame.where(frame.notna(), None).to_dict("records")
    pytest.importorskip("polars")
    assert hodo.trace(dir=training, format="polars").to_dicts() == expected
    pytest.importorskip("pyarrow")
    assert hodo.trace(dir=training, format="arrow").to_pylist() == expected


@pytest.mark.parametrize("format", ["df", "polars", "arrow"])
def test_no_rows_have_the_same_columns(training: Path, format: str) -> None:
    pytest.importorskip({"df": "pandas", "polars": "polars", "arrow": "pyarrow"}[format])
    some, none = (hodo.trace(dir=training, format=format, name=name) for name in ("", "nowhere"))
    assert len(none) == 0 < len(some)
    types = "schema" if format != "df" else "dtypes"
    kinds = [str(kind).split("(")[0] for kind in getattr(some, types)]
    assert kinds == [str(kind).split("(")[0] for kind in getattr(none, types)]


def test_marks_with_their_attributes(training: Path) -> None:
    pytest.importorskip("pandas")
    trace = hodo.trace(dir=training)
    marks = trace.marks("df")
    losses = marks[marks["name"] == "loss"]
    assert list(losses["value"]) == [1 / (i + 1) for i in range(5)] * 2
    assert [json.loads(text) for text in losses["attributes"]] == [{"rows": i} for i in range(5)] * 2
    (done,) = marks[marks["name"] == "done"].to_dict("records")
    assert (done["text"], done["kind"]) == ("yes", "summary")
    (batch,) = [node for node in trace.dict()["nodes"] if node["name"] == "batch"]
    (loss,) = [mark for mark in batch["marks"] if mark["name"] == "loss"]
    assert (loss["last"], loss["last_attrs"]) == (0.2, {"rows": 4})
    exported = subprocess.run(
        [str(runs.PROGRAM), "export", "--to", "chrome", "--dir", str(training)],
        capture_output=True,
        check=True,
    )
    events = json.loads(exported.stdout)["traceEvents"]
    shown = [e["args"] for e in events if e["ph"] == "i" and e["name"] == "loss"]
    assert [args["attributes"] for args in shown] == [{"rows": i} for i in range(5)] * 2


@pytest.mark.parametrize("format", ["df", "polars", "arrow"])
def test_readings_of_the_machine(tmp_path: Path, format: str) -> None:
    pytest.importorskip({"df": "pandas", "polars": "polars", "arrow": "pyarrow"}[format])
    program = """
        import hodo, time

        hodo.init(app="sampled")
        with hodo.scope("wait"):
            while hodo.health()["telemetry"]["rounds"] < 20:
                time.sleep(0.01)
        hodo.shutdown()
        print(time.time_ns())
    """
    over_ns = int(runs.run(tmp_path, program, HODO_TELEMETRY="50ms").out)
    trace = hodo.trace(dir=tmp_path)
    table = trace.samples("memory.*", format=format)
    columns = table.column_names if format == "arrow" else list(table.columns)
    assert columns == ["run", "host", "source", "metric", "unit", "time_ns", "value"]
    rows = table.to_pylist() if format == "arrow" else table.to_dicts() if format == "polars" else table.to_dict("records")
    used = [row for row in rows if (row["source"], row["metric"]) == ("host", "memory.used")]
    assert len(used) > 5 and all(row["unit"] == "By" and row["value"] > 0 for row in used)
    document = trace.dict()
    (machine,) = document["machines"]
    start, end = document["start_ns"], document["start_ns"] + document["wall_ns"]
    times = [row["time_ns"] for row in used]
    assert all(start <= time <= over_ns + 1_000_000_000 for time in times)
    (series,) = [s for s in machine["series"] if (s["source"], s["metric"]) == ("host", "memory.used")]
    assert series["min"] <= series["mean"] <= series["max"]
    # All between two readings, but for a gap in which the machine stood still.
    apart = sorted(b - a for a, b in zip(times, times[1:]))
    longest = max(5 * apart[len(apart) // 2], 1_000_000_000)
    covered = sum(min(b, end) - max(a, start) for a, b in zip(times, times[1:]) if b - a <= longest and a < end)
    assert series["covered"] == pytest.approx(covered / document["wall_ns"], abs=0.02), series
    assert len(trace.samples(format=format)) > len(rows)
    assert len(trace.samples("no such series", format=format)) == 0


def test_the_tree_prints(training: Path) -> None:
    shown = str(hodo.trace(dir=training))
    assert repr(hodo.trace(dir=training)) == shown
    lines = shown.splitlines()
    assert lines[0].startswith("training  finished  ")
    assert f"{SPANS} scopes" in lines[1]
    names = [line.strip().split("  ")[0] for line in lines if "─" in line]
    assert names[:2] == ["└─ batch", "└─ forward"]
    assert "failed: fails: ValueError" in shown


def test_report_prints_what_the_program_prints(
    training: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hodo.report(dir=training, name="batch", where="variant=beam", last=4) is None
    options = ["--name=batch", "--where=variant=beam", "--last=4", "--dir", str(training)]
    printed = subprocess.run(
        [str(runs.PROGRAM), "report", *options], capture_output=True, text=True, check=True
    )
    assert capsys.readouterr().out == printed.stdout
    assert "batch" in printed.stdout


LIVE = """
    import hodo, json

    hodo.init(app="live", flush_interval=60)
    for i in range(100):
        with hodo.scope("closed", i):
            pass
    with hodo.scope("outer", 7) as outer:
        with hodo.scope("inner"):
            before = hodo.health()
            document = hodo.trace(format="dict")
            part = hodo.trace(format="dict", scope=outer.id)
            print(json.dumps([document, part]))
            assert not hodo.trace(name="outer").dict()["nodes"][0]["durations"]
            str(hodo.trace()), hodo.trace()._repr_html_()
    for i in range(100):
        with hodo.scope("after"):
            pass
    assert hodo.health()["produced"]["spans"] == before["produced"]["spans"] + 102
    own = hodo.health()["run"]
    hodo.shutdown()
    assert hodo.trace(own, format="dict")["spans"] == 202
"""


def test_a_process_reads_its_own_run_while_it_records(tmp_path: Path) -> None:
    document, part = json.loads(runs.run(tmp_path, LIVE).out)
    assert (document["state"], document["spans"]) == ("live", 102)
    counts = {"/".join(n["path"]): (n["count"], n["open"]) for n in document["nodes"]}
    assert counts == {"closed": (100, 0), "outer": (1, 1), "outer/inner": (1, 1)}
    assert [step["name"] for step in document["open"]["scopes"][0]["path"]] == ["inner", "outer"]
    assert [node["name"] for node in part["nodes"]] == ["outer", "inner"]
    assert sum(node["count"] for node in runs.report(tmp_path)["nodes"]) == 202


def test_the_run_of_another_process_alive_and_killed(tmp_path: Path) -> None:
    code = """
        import hodo, sys, time
        hodo.init(app="other")
        for i in range(10):
            with hodo.scope("closed"):
                pass
        with hodo.scope("waits"):
            print("ready", flush=True)
            time.sleep(3600)
    """
    file = runs.written(tmp_path, code)
    command = [sys.executable, str(file)]
    environment = runs.environment(tmp_path)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        alive = hodo.trace(dir=tmp_path, format="dict")
        program.send_signal(signal.SIGKILL)
    killed = hodo.trace(dir=tmp_path, format="dict")
    assert (alive["state"], killed["state"]) == ("live", "ended")
    for document in (alive, killed):
        counts = {n["name"]: (n["count"], n["open"]) for n in document["nodes"]}
        assert counts == {"closed": (10, 0), "waits": (1, 1)}
    if "pandas" in sys.modules or pytest.importorskip("pandas"):
        frame = hodo.trace(dir=tmp_path, format="df")
        assert list(frame[frame["name"] == "waits"]["state"]) == ["left open"]
        assert frame[frame["name"] == "waits"]["cpu_ns"].isna().all()


def test_off_and_wrong_arguments_say_what_to_do(tmp_path: Path, training: Path) -> None:
    if hodo.health()["run"] is None:
        with pytest.raises(RuntimeError, match=r"hodo\.init\(\)"):
            hodo.trace()
    with pytest.raises(FileNotFoundError, match="no runs in"):
        hodo.trace(dir=tmp_path)
    with pytest.raises(FileNotFoundError, match="no run named `zzz`"):
        hodo.trace("zzz", dir=training)
    with pytest.raises(FileNotFoundError, match="is not a run"):
        hodo.trace(tmp_path)
    with pytest.raises(ValueError, match="is not a condition"):
        hodo.trace(dir=training, where="variant")
    with pytest.raises(ValueError, match="comparisons as a text"):
        hodo.trace(dir=training, where={"loss>": 1})
    with pytest.raises(ValueError, match="neither a number of scopes nor a time"):
        hodo.trace(dir=training, last="soon")
    with pytest.raises(TypeError, match="last is"):
        hodo.trace(dir=training, last=1.5)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="32 hex digits"):
        hodo.trace(dir=training, scope="abc")
    with pytest.raises(ValueError, match="format is one of"):
        hodo.trace(dir=training, format="csv")


def test_a_package_that_is_missing_is_named(
    training: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, format in (("pandas", "df"), ("polars", "polars"), ("pyarrow", "arrow")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"format='{format}' needs {package}.*pip install"):
            hodo.trace(dir=training, format=format)


class Page(html.parser.HTMLParser):
    """Collects what a page is made of, and refuses what could act."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("style", "div", "b", "table", "tr", "th", "td"), tag
        assert all(name in ("class", "style") for name, _ in attrs), attrs
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table></div><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)'",
    "&lt;b&gt; &amp;",
    "\x1b[2Jgone\r\n",
    "ab\u202edc\u2066\u0000",
    "模型 🚀" * 10,
    "x" * 5000,
]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    code = f"""
        import hodo
        hodo.init(app="<i>app</i>")
        for name in {HOSTILE!r}:
            with hodo.scope(name, tag=name, **{{"<b>": name}}):
                hodo.mark(name, name, **{{name[:20]: name}})
            try:
                with hodo.scope("fails"):
                    raise type(name[:50].replace("\\0", ""), (Exception,), {{}})
            except Exception:
                pass
    """
    runs.run(tmp_path, code)
    trace = hodo.trace(dir=tmp_path)
    page = Page(trace._repr_html_())
    shown = "".join(page.texts)
    assert "<script>alert(1)</script>" in shown
    assert "&lt;b&gt; &amp;" in shown
    assert "<i>app</i>" in shown
    for text in (shown, str(trace)):
        assert not set(text) & set("\x1b\r\x00\u202e\u2066"), "nothing that a terminal obeys"


def test_ten_thousand_names_fit_in_a_notebook(tmp_path: Path) -> None:
    code = """
        import hodo
        hodo.init(app="many")
        for i in range(10_000):
            with hodo.scope(f"<{i}>" + "&" * 100):
                hodo.mark(f"{i}" + "<" * 300, "&" * 3000)
    """
    runs.run(tmp_path, code)
    trace = hodo.trace(dir=tmp_path)
    page = trace._repr_html_()
    assert len(page.encode()) < 200_000
    Page(page)
    shown, told = page.count("padding-left:"), re.search(r"and ([\d ]+) smaller paths left out", page)
    assert told is not None
    assert 100 < shown == 10_000 - int(told[1].replace(" ", ""))
    assert len(str(trace).splitlines()) < 300


def test_notebooks_are_shown_the_page(training: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        kernel = object()

    class IPython:
        get_ipython = staticmethod(Shell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    shown = hodo.report(dir=training, name="batch")
    assert shown is not None
    assert "batch" in shown._repr_html_()


def test_other_threads_run_while_a_run_is_read(training: Path) -> None:
    from hodo import _hodo

    assert_others_run_during(lambda: _hodo.read_run(training))


def test_other_threads_run_while_a_report_is_made(training: Path) -> None:
    from hodo import _hodo

    assert_others_run_during(_hodo.read_run(training).document)


def assert_others_run_during(work: Callable[[], object]) -> None:
    import threading

    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.0005):
            ticks += 1

    usual = sys.getswitchinterval()
    thread = threading.Thread(target=tick)
    thread.start()
    # From here on a thread runs only where another one lets it.
    sys.setswitchinterval(3600)
    before = ticks
    try:
        until = time.monotonic() + 300
        while ticks <= before + 3 and time.monotonic() < until:
            work()
    finally:
        sys.setswitchinterval(usual)
        stop.set()
        thread.join()
    assert ticks > before + 3


def test_reading_is_not_imported_before_it_is_asked_for() -> None:
    code = "import sys, hodo; print([m for m in sys.modules if m in ('hodo._trace', 'json', 'html')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
