"""Who says what is hooked: the program, a parent, `hodo run --hooks`; and from when to when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import runs

KERAS = "class Model: pass\n"


def launched(dir: Path, code: str, flag: str = "--hooks") -> subprocess.CompletedProcess[str]:
    """A program under ``hodo run``, with a framework that is none."""
    file = runs.written(dir, code)
    for name in ("keras", "jax"):
        (file.parent / f"{name}.py").write_text(KERAS)
    command = [str(runs.PROGRAM), "run", flag, "--", sys.executable, str(file)]
    env = runs.environment(dir, OMP_NUM_THREADS="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, cwd=dir)
    assert done.returncode == 0, done.stderr
    return done


def test_what_was_shut_down_does_not_start_again(tmp_path: Path) -> None:
    launched(tmp_path, """
        import hodo
        import keras
        assert hodo.is_on()
        hodo.shutdown()
        import jax
        assert not hodo.is_on(), "the program has said that it is over"
        hodo.profile()
        assert hodo.is_on() and "jax" in hodo.health()["hooks"]
    """)


def test_shutting_down_before_anything_is_imported_counts_too(tmp_path: Path) -> None:
    launched(tmp_path, """
        import hodo
        hodo.init()
        hodo.shutdown()
        import keras
        assert not hodo.is_on()
    """)


def test_a_program_that_chooses_is_not_overruled(tmp_path: Path) -> None:
    launched(tmp_path, """
        import hodo
        hodo.profile(frameworks=[])
        import keras
        assert hodo.health()["hooks"] == {}, hodo.health()["hooks"]
        hodo.profile(frameworks=["jax"])
        hodo.init()
        assert set(hodo.health()["hooks"]) == {"jax"}, hodo.health()["hooks"]
        hodo.shutdown()
        hodo.init()
        assert len(hodo.health()["hooks"]) > 1, "of a new start the environment says what is hooked"
    """)


def test_a_program_that_is_started_by_a_hooked_one_hooks_if_it_asks(ran: Any) -> None:
    ran("""
        import hodo, os, subprocess, sys
        hodo.profile(frameworks=["torch", "keras"], layers=1)
        def child(code):
            head = "import hodo; from hodo import hooks; told = lambda: set(hodo.health()['hooks']); "
            subprocess.run([sys.executable, "-c", head + code], check=True)
        child("hodo.init(); assert told() == set(), told()")
        child("hodo.profile(frameworks=[]); assert told() == set(), told()")
        child("hodo.profile(); assert told() == {'torch', 'keras'}, told(); assert hooks._settings.layers == 1")
        hodo.profile(frameworks=["jax"], layers=2)
        child("hodo.profile(); assert told() == {'torch', 'keras', 'jax'}; assert hooks._settings.layers == 2")
        hodo.shutdown()
        assert "HODO_HOOKS" not in os.environ
    """)


def test_more_is_asked_for_when_it_is_hooked_already(trained: Any, tree: Any) -> None:
    run = trained("""
        x, y = data[:5]
        for name in ("before", "layers", "still"):
            if name != "before":
                hodo.profile(layers=1 if name == "layers" else 0)
            with hodo.scope(name):
                step(x, y)
        assert hodo.health()["hooks"]["torch"] == "hooked"
    """)
    assert run.tree == tree("""
        before 1
          backward 1
          forward 1
          optimizer 1
        layers 1
          backward 1
          forward 1
            Linear.0 1
            Linear.2 1
            ReLU.1 1
          optimizer 1
        still 1
          backward 1
          forward 1
            Linear.0 1
            Linear.2 1
            ReLU.1 1
          optimizer 1
    """)


def test_layers_of_a_program_that_hodo_run_has_hooked(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    launched(tmp_path, """
        import torch
        import hodo
        assert hodo.profile(layers=1) == "already"
        torch.nn.Sequential(torch.nn.Linear(4, 4))(torch.zeros(2, 4))
    """, "--hooks=torch")
    assert runs.paths(tmp_path)[("forward", "Linear.0")] == 1


def test_a_watch_that_goes_takes_no_finder_from_another_thread(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    ran("""
        import os, sys, threading
        sys.path.insert(0, os.environ["MODULES"])
        from importlib.machinery import PathFinder
        from hodo._imports import when_imported

        asked, gone = threading.Event(), threading.Event()

        class Waits:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "other":
                    asked.set()
                    assert gone.wait(300)

        # Right before the finder that has it, and behind a watch that goes meanwhile.
        sys.meta_path.insert(sys.meta_path.index(PathFinder), Waits)
        stop = when_imported("framework", lambda module: None)
        count, found = len(sys.meta_path), []

        def imports():
            import other
            found.append(other)

        thread = threading.Thread(target=imports)
        thread.start()
        assert asked.wait(300)
        stop()
        assert len(sys.meta_path) == count - 1
        gone.set()
        thread.join()
        assert found
    """, MODULES=str(tmp_path))


def test_hooking_while_another_thread_imports_does_not_block_both(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "slow_framework.py").write_text("")
    (tmp_path / "slow_hooks.py").write_text(
        "import slow_framework\ndef install(undo, settings): slow_framework.hooked = 1\n"
    )
    ran("""
        import faulthandler, os, sys, threading
        os.environ["HODO_HOOKS"] = "torch"
        sys.path.insert(0, os.environ["MODULES"])
        faulthandler.dump_traceback_later(300, exit=True)
        import hodo
        from hodo import _control, hooks
        hooks.FRAMEWORKS = {"torch": {"slow_hooks": "slow_framework"}}
        hooks.start()
        profile, install = _control.profile, hooks._Hook._install
        main, importing, installing = threading.current_thread(), threading.Event(), threading.Event()

        def profiled():
            importing.set()
            assert installing.wait(300)
            return profile()

        def installed(self, module):
            installing.set()
            return install(self, module)

        def other():
            assert importing.wait(300)
            profile()

        _control.profile, hooks._Hook._install = profiled, installed
        thread = threading.Thread(target=other)
        thread.start()
        import slow_framework
        assert slow_framework.hooked, "when its import is over it is hooked, whoever did it"
        thread.join()
        assert hodo.health()["hooks"] == {"torch": "hooked"}
    """, MODULES=str(tmp_path))


def test_a_module_that_is_watched_is_found_as_it_was(ran: Any, tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text(KERAS)
    ran("""
        import copy, importlib, importlib.util, os, pickle, sys, types, warnings
        from importlib.machinery import ModuleSpec, SourceFileLoader
        sys.path.insert(0, os.environ["MODULES"])
        plain = importlib.util.find_spec("keras")
        import hodo
        hodo.profile(["keras", "jax", "lightning"])
        spec = importlib.util.find_spec("keras")
        assert isinstance(spec.loader, SourceFileLoader) and "hodo" not in repr(spec)
        assert spec == importlib.util.find_spec("keras") == plain and plain == spec
        assert hash(spec.loader) == hash(plain.loader) and vars(spec.loader) == vars(plain.loader)
        assert copy.deepcopy(spec) == copy.copy(spec) == spec
        stored = pickle.dumps(spec.loader)
        assert b"hodo" not in stored.replace(os.environ["MODULES"].encode(), b"")
        assert pickle.loads(stored) == plain.loader

        class Old:
            def load_module(self, name):
                module = sys.modules[name] = types.ModuleType(name)
                module.__loader__, module.mine = self, 1
                return module

        class Finds:
            @staticmethod
            def find_spec(name, path=None, target=None):
                return ModuleSpec(name, Old()) if name == "jax" else None

        sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), Finds)
        warnings.simplefilter("ignore")
        assert importlib.import_module("jax").mine == 1

        class Half:
            def exec_module(self, module):
                pass

        half = types.SimpleNamespace(find_spec=lambda name, *_: ModuleSpec(name, Half()) if name == "lightning" else None)
        sys.meta_path.insert(0, half)
        try:
            import lightning
        except ImportError as error:
            assert "create_module" in str(error)
        else:
            raise AssertionError("Python takes no such loader")
        sys.meta_path.remove(half)

        import keras
        assert type(keras.__spec__.loader) is SourceFileLoader
        assert hodo.health()["hooks"]["keras"] != "waiting"
    """, MODULES=str(tmp_path))
