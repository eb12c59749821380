"""Ways a Python program ends, forks, starts others and misbehaves: exact counts, exit codes kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import runs

HEAVY = bool(os.environ.get("HODO_HEAVY"))

# A thread counts what it has closed into a file that a kill leaves whole.
WORK = """
    import hodo, mmap, os, signal, sys, threading, time

    hodo.init(app="work")
    ack = open("acknowledged", "w+b")
    ack.write(bytes(8)); ack.flush()
    done = mmap.mmap(ack.fileno(), 8)

    def work(count):
        for i in range(count):
            with hodo.scope("closed", i, step=i):
                hodo.mark("loss", i)
            done[:8] = (i + 1).to_bytes(8, "little")
"""


def work(dir: Path, end: str, expect: int | None, **more: str) -> runs.Ended:
    """Runs 1,000 scopes, then ``end`` inside an open one."""
    code = WORK + "\n    work(1000)\n    with hodo.scope('open'):\n        " + end
    return runs.run(dir, f"import os; os.chdir({str(dir)!r})\n" + dedent(code), expect=expect, **more)


def dedent(code: str) -> str:
    import textwrap

    return textwrap.dedent(code)


def acknowledged(dir: Path) -> int:
    """How many scopes the program says that it has closed."""
    return int.from_bytes((dir / "acknowledged").read_bytes(), "little")


def check(dir: Path, opened: bool) -> None:
    closed = runs.node(dir, "closed")
    assert closed["count"] == acknowledged(dir) == 1000
    loss = next(mark for mark in closed["marks"] if mark["name"] == "loss")
    assert loss["count"] == 1000
    assert runs.node(dir, "open")["open"] == int(opened)


@pytest.mark.parametrize(
    ("end", "code", "opened"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, True),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM, True),
        ("os._exit(7)", 7, True),
        ("os.abort()", -signal.SIGABRT, True),
        ("sys.exit(3)", 3, False),
        ("raise RuntimeError", 1, False),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV, True),
        ("os.execv('/bin/true', ['true'])", 0, True),
    ],
)
def test_however_a_program_ends(tmp_path: Path, end: str, code: int, opened: bool) -> None:
    work(tmp_path, end, code)
    check(tmp_path, opened)


def test_an_interrupt_that_is_caught_changes_nothing(tmp_path: Path) -> None:
    code = WORK + """
    # Whoever runs the tests in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    work(500)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        with hodo.scope("interrupted"):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
    except KeyboardInterrupt:
        pass
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    for i in range(500):
        with hodo.scope("after"):
            pass
    """
    runs.run(tmp_path, f"import os; os.chdir({str(tmp_path)!r})\n" + dedent(code))
    got = runs.paths(tmp_path)
    assert got[("closed",)] == 500 and got[("after",)] == 500
    assert runs.node(tmp_path, "interrupted")["failed"] == 1


@pytest.mark.parametrize("round", range(30 if HEAVY else 6))
def test_killed_at_a_random_moment(tmp_path: Path, round: int) -> None:
    code = WORK + "\n    print('on', flush=True)\n    while True: work(10**9)"
    file = runs.written(tmp_path, f"import os; os.chdir({str(tmp_path)!r})\n" + dedent(code))
    # As fast as the pump sustains: otherwise what it could not keep is lost, and counted.
    file.write_text(file.read_text().replace("little\")", "little\"); time.sleep(5e-6)"))
    environment = runs.environment(tmp_path)
    process = subprocess.Popen(
        [sys.executable, str(file)], env=environment, stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    while acknowledged(tmp_path) <= 100:
        time.sleep(0.01)
    time.sleep(0.05 + 0.07 * round % 0.6)
    process.kill()
    process.wait()
    closed_before = acknowledged(tmp_path)
    report = runs.report(tmp_path)
    closed = runs.node(tmp_path, "closed")
    assert closed["count"] - closed["open"] in (closed_before, closed_before + 1)
    assert sum(process["lost"] for process in report["processes"] if "lost" in process) == 0


def test_ten_thousand_short_threads(tmp_path: Path) -> None:
    code = """
    import hodo, threading, resource
    hodo.init(app="threads")

    def work(i):
        with hodo.scope("thread", i):
            hodo.mark("i", i)

    def burst(first, count):
        for i in range(first, first + count, 20):
            threads = [threading.Thread(target=work, args=(j,)) for j in range(i, i + 20)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            # What waits to be written takes memory: as much on a machine that is slow to write it.
            if i % 100 == 0: assert hodo.flush(60)

    burst(0, 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    burst(1000, 9000)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    health = hodo.health()
    assert health["lost_records"] == 0, health
    print(after - before)
    """
    ended = runs.run(tmp_path, code)
    node = runs.node(tmp_path, "thread")
    assert node["count"] == 10_000 and node["threads"] == 10_000
    assert next(mark for mark in node["marks"] if mark["name"] == "i")["count"] == 10_000
    assert int(ended.out) < 16_384, f"grew by {ended.out} KiB"


CHILDREN = """
    import hodo, multiprocessing, sys, os
    from concurrent.futures import ProcessPoolExecutor

    def child(i):
        for j in range(200):
            with hodo.scope("in-child", j):
                hodo.mark("j", j)
        return os.getpid()

    if __name__ == "__main__":
        hodo.init(app="children")
        method = sys.argv[1]
        with hodo.scope("parent"):
            if method == "os.fork":
                pids = []
                for i in range(4):
                    pid = os.fork()
                    if pid == 0:
                        child(i)
                        os._exit(0)
                    pids.append(pid)
                assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
            elif method == "pool":
                context = multiprocessing.get_context("fork")
                with ProcessPoolExecutor(4, mp_context=context) as pool:
                    list(pool.map(child, range(4)))
            else:
                context = multiprocessing.get_context(method)
                workers = [context.Process(target=child, args=(i,)) for i in range(4)]
                for worker in workers: worker.start()
                for worker in workers: worker.join()
                assert all(worker.exitcode == 0 for worker in workers)
        with hodo.scope("after"):
            pass
"""


def test_a_program_started_with_a_copied_environment_joins(tmp_path: Path) -> None:
    code = """
    import hodo, os, subprocess, sys
    hodo.init(app="family")
    if len(sys.argv) == 1:
        with hodo.scope("parent"):
            subprocess.run([sys.executable, __file__, "linked"], check=True,
                           env=os.environ | hodo.child_env())
            subprocess.run([sys.executable, __file__, "joined"], check=True, env=dict(os.environ))
    else:
        with hodo.scope(sys.argv[1]):
            pass
    """
    got = runs.recorded(tmp_path, code)
    assert got == {("parent",): 1, ("parent", "linked"): 1, ("joined",): 1}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "os.fork", "pool"])
def test_children_are_in_the_run_under_the_scope_that_started_them(
    tmp_path: Path, method: str
) -> None:
    runs.run(tmp_path, CHILDREN, method)
    got = runs.paths(tmp_path)
    in_child = {path: count for path, count in got.items() if path[-1] == "in-child"}
    assert sum(in_child.values()) == 800, in_child
    assert set(in_child) == {("parent", "in-child")}, in_child
    assert got[("parent",)] == 1 and got[("after",)] == 1
    assert len(runs.report(tmp_path)["processes"]) >= 5 - (method == "pool") * 3


def test_fork_under_load(tmp_path: Path) -> None:
    code = """
    import hodo, os, threading
    hodo.init(app="forks")
    stop = threading.Event()

    def load():
        while not stop.is_set():
            with hodo.scope("load"):
                pass

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads: thread.start()
    for i in range(FORKS):
        with hodo.scope("fork", i):
            pid = os.fork()
            if pid == 0:
                with hodo.scope("child", i):
                    pass
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    stop.set()
    for thread in threads: thread.join()
    """
    forks = 200 if HEAVY else 40
    runs.run(tmp_path, code.replace("FORKS", str(forks)), flags=("-W", "ignore"))
    got = runs.paths(tmp_path)
    assert got[("fork",)] == forks and got[("fork", "child")] == forks


def test_daemon_threads_at_exit(tmp_path: Path) -> None:
    code = """
    import hodo, threading, time
    hodo.init(app="daemons")

    def load():
        while True:
            with hodo.scope("load", x=1):
                hodo.mark("m", 1)

    for _ in range(8):
        threading.Thread(target=load, daemon=True).start()
    while not hodo.health()["produced"]["spans"]:
        time.sleep(0.001)
    time.sleep(0.02)
    """
    for i in range(500 if HEAVY else 15):
        dir = tmp_path / str(i)
        ended = runs.run(dir, code, HODO_MEMORY="4m")
        assert ended.err == "", ended.err
        if i % 50 == 0:
            assert runs.node(dir, "load")["count"] > 0


def test_no_warning_and_no_print(tmp_path: Path) -> None:
    code = """
    import hodo, os
    hodo.init(app="quiet", max_depth=2)
    with hodo.scope("a"), hodo.scope("b"), hodo.scope("c"):
        hodo.mark("m", object())
    if os.fork() == 0:
        with hodo.scope("child"):
            pass
        os._exit(0)
    os.wait()
    hodo.shutdown()
    """
    ended = runs.run(tmp_path, code, flags=("-W", "error", "-X", "dev"))
    # Nobody asked for logging, so Python itself shows the one warning.
    assert ended.out == "" and ended.err.count("\n") <= 1 and "max_depth" in ended.err


def test_warnings_go_to_logging(tmp_path: Path) -> None:
    code = """
    import hodo, logging
    records = []
    class Keep(logging.Handler):
        def emit(self, record): records.append(record)
    logging.getLogger("hodo").addHandler(Keep())
    logging.getLogger("hodo").propagate = False
    hodo.init(app="log", max_depth=1)
    for _ in range(100):
        with hodo.scope("a"), hodo.scope("b"):
            pass
    assert [r.name for r in records] == ["hodo"] and "max_depth" in records[0].getMessage(), records
    assert records[0].levelname == "WARNING"
    """
    assert runs.run(tmp_path, code).err == ""


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    code = """
    import hodo
    state = hodo.init(app="nowhere", dir="/proc/nowhere")
    assert state == "degraded", state
    for i in range(100):
        with hodo.scope("a", i):
            hodo.mark("m", i)
    health = hodo.health()
    assert health["degraded"] and not health["crash_safe"], health
    """
    ended = runs.run(tmp_path, code)
    assert "/proc/nowhere" in ended.err


def test_switched_off_by_the_environment(tmp_path: Path) -> None:
    code = """
    import hodo
    assert hodo.init(app="off") == "off"
    with hodo.scope("a") as s:
        assert s.id is None
    """
    ended = runs.run(tmp_path, code, HODO="0")
    assert ended.err == "" and sorted(p.name for p in tmp_path.iterdir()) == ["program.py"]


HOSTILE = """
    import hodo, sys, math
    hodo.init(app="hostile")

    class Raises:
        def __str__(self): raise RuntimeError("no")
        def __repr__(self): raise RuntimeError("no")
    class Item:
        def item(self): raise RuntimeError("no")
    class BadIndex:
        def __index__(self): raise ZeroDivisionError
    class BadFloat:
        def __float__(self): raise OverflowError
    class Reenters:
        def __str__(self):
            with hodo.scope("reentered", x=Raises()):
                hodo.mark("m", 1)
            return "fine"
    class Text(str):
        def __eq__(self, other): raise RuntimeError("no")
        __hash__ = str.__hash__
    loop = []; loop.append(loop)
    deep = []
    for _ in range(5000): deep = [deep]
    values = [
        None, 10**5000, -(2**63), 2**63, float("nan"), float("inf"), "", "x" * 10_000_000,
        "\\udc80 lone", "\\0nul", "\\x1b[31mred", "\\u202eright to left", b"bytes", bytearray(b"b"),
        loop, deep, {"a": loop}, {1: 2, None: 3, (1, 2): Raises()}, {1, 2}, frozenset(), object(),
        Raises(), Item(), BadIndex(), BadFloat(), Reenters(), Text("sub"), lambda: 1, sys, type,
        1 + 2j, range(10**12), memoryview(b"x"), NotImplemented, ..., Raises,
    ]
    assert len(values) == 36
    good = 0
    for i in range(5000):
        value = values[i % len(values)]
        with hodo.scope("good", i, number=i, bad=value, after="kept") as s:
            s.set(late=value)
            s.mark("bad", value, also=value)
            hodo.mark("good", i)
            if not callable(value):
                with hodo.scope(value, value):
                    pass
        good += 1
    health = hodo.health()
    assert health["internal_errors"] == 0 and health["lost_records"] == 0, health
    assert health["values_as_text"] > 1000
"""


def test_hostile_names_attributes_and_marks_cost_their_neighbours_nothing(tmp_path: Path) -> None:
    runs.run(tmp_path, HOSTILE, HODO_MEMORY="256m")
    node = runs.node(tmp_path, "good")
    assert node["count"] == 5000 and node["failed"] == 0
    assert next(mark for mark in node["marks"] if mark["name"] == "good")["count"] == 5000
    kept = runs.report(tmp_path, "--where", "after=kept", "--where", "number>=0")
    assert [n["count"] for n in kept["nodes"] if n["path"] == ["good"]] == [5000]


def test_signals_at_any_moment(tmp_path: Path) -> None:
    code = """
    import hodo, signal, time
    hodo.init(app="signals")
    hits = 0
    def handler(*_):
        global hits
        hits += 1
        with hodo.scope("handler"):
            hodo.mark("hit", hits)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    end = time.monotonic() + 2
    count = 0
    while time.monotonic() < end or hits <= 100:
        for i in range(100):
            with hodo.scope("work", i, a=1, b="x"):
                pass
        count += 100
        hodo.flush()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(count, hits)
    """
    ended = runs.run(tmp_path, code)
    count, hits = map(int, ended.out.split())
    got = runs.paths(tmp_path)
    assert sum(n for path, n in got.items() if path[-1] == "work") == count
    assert sum(n for path, n in got.items() if path[-1] == "handler") == hits > 100
