"""Scrapes a monitor and compares what Prometheus' own parser reads with /proc: scrape.py URL"""

import os
import sys
import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families


def worked() -> float:
    with open("/proc/stat") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    user, nice, system, _, _, irq, softirq = ticks[:7]
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def meminfo(key: str) -> int:
    with open("/proc/meminfo") as info:
        return next(int(line.split()[1]) * 1024 for line in info if line.startswith(key + ":"))


def scrape(url: str) -> dict:
    with urllib.request.urlopen(url) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {family.name: family for family in families}


def value(families: dict, name: str, **labels: str) -> float:
    samples = families[name].samples
    wanted = [s.value for s in samples if labels.items() <= s.labels.items()]
    assert len(wanted) == 1, f"{name} {labels}: {wanted}"
    return wanted[0]


def main(url: str) -> None:
    before = worked()
    # What it says may have been read before this began: until it reads again.
    patience = time.monotonic() + 120
    while True:
        families = scrape(url)
        time_worked = value(families, "hodo_cpu_time_seconds")
        if time_worked >= before or time.monotonic() > patience:
            break
        time.sleep(0.05)
    after = worked()
    assert before <= time_worked <= after, f"{before} {time_worked} {after}"
    assert families["hodo_cpu_time_seconds"].type == "counter"
    total = value(families, "hodo_memory_total_bytes")
    assert total == meminfo("MemTotal"), total
    used = value(families, "hodo_memory_used_bytes")
    told = meminfo("MemTotal") - meminfo("MemAvailable")
    assert abs(used - told) < 0.05 * total, f"{used} {told}"
    cores = value(families, "hodo_cpu_cores")
    assert len(families["hodo_core_time_seconds"].samples) == cores
    host = os.uname().nodename
    for family in families.values():
        assert family.documentation and family.type in ("gauge", "counter"), family
        for sample in family.samples:
            assert sample.labels["host"] == host, sample
    print(f"as the system says: {len(families)} families")


main(sys.argv[1])
