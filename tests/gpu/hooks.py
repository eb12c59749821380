"""Checks the hooks of frameworks on a machine that has a GPU, and measures what they cost.

    python tests/gpu/hooks.py [--rounds 180] [--seconds 150] [--peers FOLDER] [--out FOLDER] [--only PART]

Plain scripts of torch, transformers and lightning run twice each: with one line, `hodo.profile()`, and
with none under `hodo run --hooks`. Their trees are compared with what the script does, and every pass
of forward, backward and optimizer must have GPU time: from kernels, and in a third run, where these are
not recorded, from CUDA events. Then as many graph breaks as without hodo, scopes of CUDA graphs, bytes
of the allocator, what checkpoints compute anew, and the MLP loop of launches: none, scopes by hand, hooks, and the peer's hooks
(`--peers` names a folder with the package `cirron`), interleaved; and for so many seconds only the two
that the bar is of, in shorter turns, which tells them apart on a host that is not quiet. Ends with 1 if
something is not as it should be. Trees and rounds are written to the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

import check

TORCH = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
loader = DataLoader(data, batch_size=64, num_workers=2, pin_memory=True)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for epoch in range(3):
    model.train()
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            model(x.cuda())
"""
TRANSFORMERS = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=100, n_positions=64))
row = {"input_ids": torch.randint(0, 100, (64,)), "labels": torch.randint(0, 100, (64,))}
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2, report_to=[],
    eval_strategy="epoch", save_strategy="no", disable_tqdm=True,
)
Trainer(model, arguments, train_dataset=[row] * 40, eval_dataset=[row] * 8).train()
"""
LIGHTNING = """
import torch
import lightning as L
from torch.utils.data import DataLoader, TensorDataset

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    def training_step(self, batch, i):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
trainer = L.Trainer(
    max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Net(), DataLoader(data, batch_size=64))
"""
STEP = ("forward", "backward", "optimizer")
# A script, what it needs, the path of its steps, how many there are, and further paths with theirs.
SCRIPTS = {
    "torch": (TORCH, "torch", ("epoch", "step"), 30, {("epoch",): 3, ("evaluate", "step", "forward"): 30}),
    "transformers": (TRANSFORMERS, "transformers", ("train", "epoch", "step"), 20, {("train", "evaluate"): 2}),
    "lightning": (LIGHTNING, "lightning", ("train", "epoch", "step"), 20, {("train", "epoch"): 2}),
}
COMPILED = """
import sys
import torch
from torch import nn
if sys.argv[1] == "hooks":
    import hodo
    hodo.profile()
import torch._dynamo as dynamo

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(2))

    def forward(self, x):
        # Not in a loop: torch gives those up as a whole.
        x = self.first(x)
        dynamo.graph_break()
        return self.second(x)

net = torch.compile(Net().cuda())
optimizer = torch.optim.Adam(net.parameters())
for _ in range(5):
    net(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
counters = dynamo.utils.counters
# Explaining begins to count anew.
print(sum(counters["graph_break"].values()), counters["stats"]["unique_graphs"])
print(dynamo.explain(Net().cuda())(torch.randn(8, 64, device="cuda")).graph_break_count)
"""
GRAPHS = """
import hodo
import torch
hodo.profile(memory=True)
model = torch.nn.Linear(1024, 1024).cuda()
x = torch.randn(1024, 1024, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    model(x)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
for _ in range(10):
    graph.replay()
big = torch.nn.Linear(1024, 1 << 16, device="cuda")
big(x)
torch.cuda.synchronize()
"""
# On a GPU autograd passes back on a thread of its own; a second pass goes on beside on another's.
CHECKPOINTS = """
import threading
import hodo
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

hodo.profile(layers=1)

class Saves(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
        self.reentrant = reentrant

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)

def passes(reentrant, name):
    model = Saves(reentrant).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    with hodo.scope(name):
        for _ in range(10):
            model(torch.randn(64, 256, device="cuda", requires_grad=True)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

other = threading.Thread(target=passes, args=(False, "beside"))
passes(True, "reentrant")
passes(False, "not reentrant")
other.start()
passes(False, "at once")
other.join()
torch.cuda.synchronize()
"""
# One process changes between these: hooks are undone by `shutdown`.
IN_TURNS = ("none", "scopes by hand", "hooks", "hooks, layers=1")
PAIR = ("scopes by hand", "hooks")
# These need a process each: CUPTI stays attached, and so does the peer.
APART = ("none", "scopes by hand, kernels", "hooks, kernels", "hooks, CUDA events", "cirron's hooks")
# Hooks against scopes by hand.
BAR = 1.03
STEPS_A_SEGMENT, SEGMENTS, SETTLE, WARM_UP, GENERATIONS, MOST_APART = 20, 3, 3, 50, 3, 60
# Of the pair alone: the shorter a turn, the less the machine changes within two.
PAIR_STEPS, PAIR_WARM_UP, PAIR_SETTLES = 10, 12, 3


def nodes(dir: pathlib.Path) -> dict[tuple[str, ...], dict]:
    return {tuple(node["path"]): node for node in check.report(dir)["nodes"]}


def script(name: str, way: str, out: pathlib.Path) -> str:
    """Runs a script in one way; a line of what was seen, or an AssertionError."""
    code, _, steps, count, more = SCRIPTS[name]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hodo-hooks-"))
    file = folder / "script.py"
    file.write_text(code if way == "hodo run --hooks" else "import hodo\nhodo.profile()\n" + code)
    command: list[object] = [sys.executable, file]
    env = {}
    if way == "hodo run --hooks":
        command = [check.package() / "bin" / "hodo", "run", "--hooks", "--", *command]
        parent = str(check.package().parent)
        env["PYTHONPATH"] = os.pathsep.join([parent, os.environ.get("PYTHONPATH", "")]).rstrip(":")
    if way == "CUDA events":
        env["HODO_GPU"] = "monitor"
    check.run(command, dir=folder / "runs", **env)
    text = [check.package() / "bin" / "hodo", "report", check.only_run(folder / "runs")]
    tree = subprocess.run([str(part) for part in text], capture_output=True, text=True).stdout
    (out / f"{name}-{way}.txt".replace(" ", "-")).write_text(tree)
    found = nodes(folder / "runs")
    assert found[steps]["count"] == count, f"{found[steps]['count']} steps, not {count}"
    for path, expected in more.items():
        assert found[path]["count"] == expected, f"{path}: {found[path]['count']}, not {expected}"
    assert found[(*steps, "data_wait")]["count"] >= count
    told = []
    for part in STEP:
        node = found[(*steps, part)]
        assert node["count"] >= count, f"{part}: {node['count']}"
        told.append(f"{part} {gpu_ms(node, way == 'CUDA events'):.3f} ms")
    return ", ".join(told)


def gpu_ms(node: dict, by_events: bool) -> float:
    """GPU time of a node, in all."""
    if not by_events:
        busy = node["gpu"]["all"]["busy_ns"]
        assert busy > 0, f"no GPU time in {node['path']}"
        return busy / 1e6
    marks = [mark for mark in node["marks"] if mark["name"] == "gpu_events_ns"]
    assert marks and marks[0]["count"] >= node["count"] * 0.9, f"{node['path']}: {marks}"
    assert marks[0]["mean"] > 0
    return marks[0]["mean"] * marks[0]["count"] / 1e6


def compiled(_: pathlib.Path) -> str:
    told = {}
    for way in ("nothing", "hooks"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hodo-hooks-"))
        (folder / "script.py").write_text(COMPILED)
        done = check.run([sys.executable, folder / "script.py", way], dir=folder / "runs")
        told[way] = done.stdout.split()
        if way == "hooks":
            assert any("compile" in path for path in nodes(folder / "runs")), "no compile scope"
    assert told["nothing"] == told["hooks"], told
    breaks, graphs, explained = map(int, told["hooks"])
    # The script breaks its graph once.
    assert graphs > 0 and explained == 1, told
    return f"{breaks} graph breaks and {graphs} graphs, with and without"


def graphs(out: pathlib.Path) -> str:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hodo-hooks-"))
    (folder / "script.py").write_text(GRAPHS)
    for level in ("auto", "monitor"):
        dir = folder / level
        check.run([sys.executable, folder / "script.py"], dir=dir, HODO_GPU=level)
        found = nodes(dir)
        assert found[("graph_replay",)]["count"] == 10 and found[("graph_capture",)]["count"] == 1
    command = [check.package() / "bin" / "hodo", "export", "--to", "chrome", check.only_run(folder / "auto")]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    events = [e for e in json.loads(done.stdout)["traceEvents"] if e["ph"] == "X" and e["name"] == "forward"]
    last = max(events, key=lambda event: float(event["ts"]))["args"]
    # The last one returns 1024 rows of 65536 floats.
    assert last["memory_peak_bytes"] >= 1024 * 65536 * 4, last
    assert "memory_delta_bytes" in last
    return f"10 replays, 1 capture; the last forward peaks at {last['memory_peak_bytes'] / 2**20:.0f} MiB"


def checkpoints(out: pathlib.Path) -> str:
    """What is computed anew is inside of the pass that asks for it, with its GPU time."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hodo-hooks-"))
    (folder / "script.py").write_text(CHECKPOINTS)
    busy = 0.0
    for way in ("kernels", "CUDA events"):
        dir = folder / way
        level = "monitor" if way == "CUDA events" else "trace"
        check.run([sys.executable, folder / "script.py"], dir=dir, HODO_GPU=level)
        text = [check.package() / "bin" / "hodo", "report", check.only_run(dir)]
        tree = subprocess.run([str(part) for part in text], capture_output=True, text=True).stdout
        (out / f"checkpoints-{way.replace(' ', '-')}.txt").write_text(tree)
        found = nodes(dir)
        for name in ("reentrant", "not reentrant", "beside", "at once"):
            anew = found[(name, "backward", "recompute")]
            assert anew["count"] == found[(name, "backward")]["count"] == 10, f"{name}: {anew['count']}"
            busy += gpu_ms(anew, way == "CUDA events")
        elsewhere = [path for path in found if "recompute" in path and path[1:3] != ("backward", "recompute")]
        assert not elsewhere, elsewhere
        failed = [path for path, node in found.items() if node["failed"]]
        assert not failed, failed
    return f"4 x 10 passes, each computed anew inside of its own backward, {busy:.3f} ms of GPU time there"


class Loop:
    """The MLP loop, in a process that has not started CUDA."""

    def __init__(self) -> None:
        import torch
        from torch import nn

        torch.manual_seed(0)
        self.synchronize = torch.cuda.synchronize
        layers = [layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.ReLU())]
        self.model = nn.Sequential(*layers, nn.Linear(256, 10)).cuda()
        self.x, self.y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), foreach=True)
        self.step = self.plain

    def plain(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(self.x), self.y).backward()
        self.optimizer.step()

    def by_hand(self) -> None:
        from hodo import scope

        with scope("step"):
            self.optimizer.zero_grad(set_to_none=True)
            with scope("forward"):
                result = self.model(self.x)
            with scope("loss"):
                value = self.loss(result, self.y)
            with scope("backward"):
                value.backward()
            with scope("optimizer"):
                self.optimizer.step()

    def configure(self, name: str, warm_up: int = WARM_UP) -> None:
        """Starts what a configuration has, and takes the first steps with it."""
        out = tempfile.mkdtemp(prefix="hodo-hooks-")
        os.chdir(out)
        level = {"kernels": "trace", "CUDA events": "monitor"}.get(name.split(", ")[-1], "off")
        self.step = self.by_hand if name.startswith("scopes") else self.plain
        if name.startswith("cirron"):
            import cirron

            cirron.profile(frameworks=["torch"])
        elif name != "none":
            import hodo

            start = hodo.init if name.startswith("scopes") else hodo.profile
            more = {"layers": 1} if "layers" in name else {}
            start(dir=out, gpu=level, telemetry="off", **more)
        for _ in range(warm_up):
            self.step()

    def segment(self, steps: int = STEPS_A_SEGMENT) -> float:
        """The seconds of a step, of some one after another."""
        # The GPU may have been another process's, and so the processor's caches.
        for _ in range(SETTLE):
            self.step()
        self.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.synchronize()
        return (time.perf_counter() - began) / steps


def order_of(number: int) -> list[str]:
    """The configurations of a round. The two that the bar is of are neighbours, since the machine is some
    percent faster or slower from one second to the next, and each of them is the first as often."""
    pair = list(PAIR if number % 2 else reversed(PAIR))
    turns = [[name] for name in IN_TURNS if name not in PAIR] + [pair]
    return [name for turn in random.Random(number).sample(turns, len(turns)) for name in turn]


def in_turns(rounds: int) -> list[dict[str, float]]:
    """What a step takes in each configuration of one process, round by round."""
    import hodo

    loop, told = Loop(), []
    for number in range(rounds):
        row = {}
        for name in order_of(number):
            loop.configure(name)
            row[name] = statistics.median(loop.segment() for _ in range(SEGMENTS))
            if name != "none":
                hodo.shutdown()
        told.append(row)
    return told


def pairs(seconds: float, out: pathlib.Path) -> tuple[str, bool]:
    """Hooks against scopes by hand, turn by turn, either of them first as often; and whether they keep to the bar."""
    import hodo

    loop, told, until = Loop(), [], time.monotonic() + seconds
    while time.monotonic() < until:
        row = {}
        for name in PAIR if len(told) % 2 else PAIR[::-1]:
            loop.configure(name, PAIR_WARM_UP)
            row[name] = statistics.median(loop.segment(PAIR_STEPS) for _ in range(SEGMENTS))
            hodo.shutdown()
        told.append(row)
    (out / "pairs.json").write_text(json.dumps(told))
    hand, hooks = ([row[name] for row in told[PAIR_SETTLES:]] for name in PAIR)
    ratios = [mine / theirs for mine, theirs in zip(hooks, hand, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    line = (
        f"{len(ratios)} pairs of turns, hooks x scopes by hand: median {middle:.3f} (bar {BAR}), mean "
        f"{statistics.mean(ratios):.3f} ± {error:.3f}, quartiles {low:.3f} - {high:.3f}, "
        f"of the medians {statistics.median(hooks) / statistics.median(hand):.3f}"
    )
    return line, middle <= BAR


class Runner:
    """One configuration in a process of its own, which runs a segment when it is told to."""

    def __init__(self, name: str, peers: str | None) -> None:
        ask, self._ask = os.pipe()
        self._told, tell = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._ask)
            os.close(self._told)
            try:
                if name.startswith("cirron") and peers:
                    sys.path.insert(0, peers)
                loop = Loop()
                loop.configure(name)
                while os.read(ask, 1) == b"s":
                    os.write(tell, struct.pack("d", loop.segment()))
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.close(ask)
        os.close(tell)

    def segment(self) -> float | None:
        """Seconds of a step; none if the process has failed."""
        try:
            os.write(self._ask, b"s")
        except BrokenPipeError:
            return None
        told = os.read(self._told, 8)
        return struct.unpack("d", told)[0] if told else None

    def end(self) -> None:
        # Later children hold the pipe too, so closing it is not enough.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._ask, b"e")
        os.close(self._ask)
        os.close(self._told)
        os.waitpid(self._child, 0)


def apart(rounds: int, peers: str | None) -> list[dict[str, float | None]]:
    """The same of configurations in processes of their own, which take turns. A process is some percent
    faster or slower than the next for as long as it lives, so there are several of each."""
    names = [name for name in APART if peers or not name.startswith("cirron")]
    told = []
    for generation in range(GENERATIONS):
        runners = {name: Runner(name, peers) for name in names}
        for runner in runners.values():
            runner.segment()
        segments: dict[str, list[float]] = {name: [] for name in names}
        for number in range(min(rounds, MOST_APART) // GENERATIONS):
            for name in random.Random(generation * rounds + number).sample(names, len(names)):
                segments[name].extend(filter(None, [runners[name].segment()]))
        for runner in runners.values():
            runner.end()
        told.append({name: statistics.median(all) if all else None for name, all in segments.items()})
    return told


def overhead(rounds: int, peers: str | None, out: pathlib.Path) -> tuple[list[str], bool]:
    """The table of what a step takes, and whether hooks keep to their bar."""
    # Before this process starts CUDA, which a child could not.
    others = apart(rounds, peers)
    told = in_turns(rounds)
    (out / "rounds.json").write_text(json.dumps({"in_turns": told, "apart": others}))
    lines = [
        "| configuration | step, µs | x none | x scopes by hand, median | mean | quartiles |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    middle = 0.0
    for name in IN_TURNS:
        ratios = [row[name] / row["scopes by hand"] for row in told]
        low, of_hand, high = statistics.quantiles(ratios, n=4)
        error = statistics.stdev(ratios) / len(ratios) ** 0.5
        middle = of_hand if name == "hooks" else middle
        of_none = statistics.median(row[name] / row["none"] for row in told)
        step_us = statistics.median(row[name] for row in told) * 1e6
        bar = f" (bar {BAR})" if name == "hooks" else ""
        mean = f"{statistics.mean(ratios):.3f} ± {error:.3f}"
        lines.append(f"| {name} | {step_us:,.0f} | {of_none:.3f} | {of_hand:.3f}{bar} | {mean} | {low:.3f} - {high:.3f} |")
    lines += ["", "In processes of their own:", "", "| configuration | step, µs | x none |", "|---|---:|---:|"]
    for name in others[0]:
        rows = [(row[name], row["none"]) for row in others if row[name] and row["none"]]
        if rows:
            ratio = statistics.median(mine / none for mine, none in rows)  # type: ignore[operator]
            lines.append(f"| {name} | {statistics.median(mine for mine, _ in rows) * 1e6:,.0f} | {ratio:.3f} |")
        else:
            lines.append(f"| {name} | not run | |")
    return lines, middle <= BAR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=180)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--peers")
    parser.add_argument("--only", choices=("scripts", "compile", "overhead", "pairs"), help="one part of it")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT") or tempfile.mkdtemp()))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    is_well = True
    lines = ["| check | | what was seen |", "|---|---|---|"]

    def checked(name: str, run: object) -> None:
        nonlocal is_well
        try:
            lines.append(f"| {name} | ✓ | {run()} |")  # type: ignore[operator]
        except Exception as error:
            is_well = False
            said = textwrap.shorten(f"{type(error).__name__}: {error}", 400)
            lines.append(f"| {name} | ✗ | {said} |")
        print(lines[-1], flush=True)

    from importlib.util import find_spec

    for name, (_, needs, *_) in SCRIPTS.items() if options.only in (None, "scripts") else ():
        for way in ("one line", "hodo run --hooks", "CUDA events"):
            if find_spec(needs) is None:
                lines.append(f"| {name}, {way} | – | {needs} is not installed |")
            else:
                checked(f"{name}, {way}", lambda: script(name, way, options.out))
    if options.only in (None, "compile"):
        checked("torch.compile", lambda: compiled(options.out))
        checked("CUDA graphs, memory", lambda: graphs(options.out))
        checked("checkpoints", lambda: checkpoints(options.out))
    table, is_cheap = [], True
    if options.only in (None, "overhead"):
        table, is_cheap = overhead(options.rounds, options.peers, options.out)
    if options.only in (None, "pairs"):
        line, are_cheap = pairs(options.seconds, options.out)
        table, is_cheap = [*table, "", line], is_cheap and are_cheap
    text = "\n".join([*lines, "", "## A step of the MLP loop", "", *table])
    (options.out / "hooks.md").write_text(text + "\n")
    print("\n" + text)
    sys.exit(0 if is_well and is_cheap else 1)


if __name__ == "__main__":
    main()
