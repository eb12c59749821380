"""Fetches NVIDIA's CUPTI packages and asks their headers where everything lies.

    python tests/cupti/fetch.py FOLDER [VERSION ...]

For every release of `versions.txt` (or those whose version begins as told) FOLDER gets
`VERSION/libcupti.so` and `VERSION/layout.txt`: a line `NAME NUMBER` for each offset, size and code that
hodo relies on, and for each driver call. Needs pip and a C compiler; nothing of NVIDIA's is kept in
the repository.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def releases(wanted: list[str]) -> list[list[str]]:
    lines = (HERE / "versions.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [row for row in rows if not wanted or any(version(row).startswith(w) for w in wanted)]


def version(row: list[str]) -> str:
    return row[0].split("==")[1]


def wheel(requirement: str, folder: pathlib.Path) -> pathlib.Path:
    name, number = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{number}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement]
        subprocess.run(command, check=True)
    return next(iter(folder.glob(pattern)))


def unpack(archive: pathlib.Path, headers: pathlib.Path, library: pathlib.Path) -> None:
    """Headers into one folder, and the library."""
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            if "/include/" in name and not name.endswith("/"):
                target = headers / name.split("/include/", 1)[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(name))
            elif re.search(r"/libcupti\.so\.\d+$", name):
                library.write_bytes(wheel.read(name))


def driver_calls(headers: pathlib.Path) -> list[str]:
    text = (headers / "cupti_driver_cbid.h").read_text()
    found = re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)\s*=\s*(\d+)", text)
    return [f"function.{name} {number}" for name, number in found if name not in ("INVALID", "SIZE", "FORCE_INT")]


def newest(headers: pathlib.Path) -> list[str]:
    """Which struct of a record is the newest, as flags of the compiler."""
    text = (headers / "cupti_activity.h").read_text()
    flags = []
    for name in ("Kernel", "Memcpy", "Memset", "Synchronization", "Memory", "MemcpyPtoP"):
        numbers = re.findall(rf"CUpti_Activity{name}(\d*)\b", text)
        number = max(numbers, key=lambda number: int(number or 1))
        flags.append(f"-D{name.upper()}=CUpti_Activity{name}{number}")
    return flags


def layout(headers: pathlib.Path, folder: pathlib.Path) -> str:
    probe = folder / "probe"
    command = ["cc", "-w", f"-I{headers}", *newest(headers), "-o", probe, HERE / "probe.c"]
    subprocess.run([str(part) for part in command], check=True)
    printed = subprocess.run([str(probe)], check=True, capture_output=True, text=True).stdout
    probe.unlink()
    return printed + "\n".join(driver_calls(headers)) + "\n"


def main() -> None:
    cache = pathlib.Path(sys.argv[1])
    wheels = cache / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    newest = max((HERE / name).stat().st_mtime for name in ("fetch.py", "probe.c", "versions.txt"))
    for row in releases(sys.argv[2:]):
        folder = cache / version(row)
        done = folder / "layout.txt"
        if done.is_file() and done.stat().st_mtime > newest:
            continue
        headers = folder / "include"
        headers.mkdir(parents=True, exist_ok=True)
        for requirement in row:
            unpack(wheel(requirement, wheels), headers, folder / "libcupti.so")
        done.write_text(layout(headers, folder))


main()
