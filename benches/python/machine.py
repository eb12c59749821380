"""Cores, and what to say about the machine."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import threading
from pathlib import Path


def spread() -> None:
    """Measured thread first on the first core, every other thread of this process on the others."""
    cores = sorted(os.sched_getaffinity(0))
    own = threading.get_native_id()
    try:
        os.setpriority(os.PRIO_PROCESS, own, -20)
    except OSError:
        pass  # only root may
    for task in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(task), cores[:1] if int(task) == own else cores[1:] or cores)
        except OSError:
            pass  # the thread has ended


def describe() -> str:
    """Processor, cores and kernel, in one line."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "")
    kind = "virtual machine, " if any("hypervisor" in line for line in info) else ""
    load = os.getloadavg()[0]
    return (
        f"{model or platform.machine()}, {os.cpu_count()} cores, {kind}"
        f"Linux {platform.release()}; load {load:.2f}"
    )


def interpreter() -> str:
    """Version and flags of the interpreter that is measured."""
    flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
    kind = "PGO" if "--enable-optimizations" in flags else "without PGO"
    return f"CPython {platform.python_version()} ({kind}), {sys.implementation.cache_tag}"
