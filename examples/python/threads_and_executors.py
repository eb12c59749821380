"""Threads: each has its own scopes; work can be put under the scope that asked for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import hodo


def resize(image: int) -> int:
    with hodo.scope("resize", index=image):
        return sum(i * image for i in range(1000))


def watch(batch: hodo.Link, done: threading.Event) -> None:
    with hodo.attach(batch), hodo.scope("watch"):
        done.wait(10)


def main() -> None:
    with ThreadPoolExecutor(4, thread_name_prefix="worker") as pool, hodo.scope("batch"):
        # carry: the function runs under the scope that is current here.
        total = sum(pool.map(hodo.carry(resize), range(16)))

        # attach: the same by hand, for a thread of your own.
        done = threading.Event()
        watcher = threading.Thread(target=watch, args=(hodo.current(), done), name="watcher")
        watcher.start()
        done.set()
        watcher.join()

    # begin and end: a stretch of time that starts on one thread and ends on another.
    upload = hodo.begin("upload", bytes=total)
    finisher = threading.Thread(target=upload.end)
    finisher.start()
    finisher.join()
    print(f"{total} resized")


if __name__ == "__main__":
    hodo.init(app="threads_and_executors")
    main()
