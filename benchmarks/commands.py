"""Time whole commands: `+experiment=cub` beside a bare script of it, and start-up.

The bare script (bare_cub.py) does the experiment's updates and tests, and gets its
arrays ready made; the command tracks its runs with MLflow. Imports are all modules that
the command has loaded at its end but rsbench's own; compute and logging is the whole
command less those. Each is a process of its own, in turn. An empty app is `import
hydra` and composing its own config, nothing else.
"""

import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part, Seconds

from rsbench.core.seeds import stream
from rsbench.datasets.cub import CUB
from rsbench.protocols import PerClass
from rsbench.store.record import Run, find_records
from rsbench.tracking.store import Tracker

#: The seeds of `+experiment=cub`.
SEEDS = 5

#: Runs the command and leaves the names of the modules it has loaded.
LIST_MODULES = """
import json, sys
from rsbench.__main__ import main
sys.argv[1:] = ["+experiment=cub", "force=true"]
main()
names = [name for name in sys.modules if not name.startswith(("rsbench", "__main__"))]
json.dump(names, open("modules.json", "w"))
"""

#: Some cannot be imported by themselves; these are not counted.
IMPORT_MODULES = """
import contextlib, importlib, json
for name in json.load(open("modules.json")):
    with contextlib.suppress(Exception):
        importlib.import_module(name)
"""

EMPTY_APP = """
from hydra import compose, initialize
with initialize(version_base="1.3", config_path=None):
    compose()
"""


def timed(words: list[str], folder: str) -> Callable[[], float]:
    """Return a function that runs Python with these words, and returns its seconds."""

    def run() -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *words], cwd=folder, check=True, capture_output=True
        )
        return time.perf_counter() - start

    return run


def write_plan(path: Path) -> None:
    """Write the arrays, splits and orders of the experiment for the bare script."""
    data = CUB().load()
    arrays = {"X": data.features, "y": data.y, "Z": data.Z}
    arrays["seeds"] = np.array(SEEDS)
    for seed in range(SEEDS):
        steps, test = PerClass().plan(data.y, data.test, stream(seed, "plan"))
        arrays[f"steps{seed}"] = np.array(steps)
        arrays[f"test{seed}"] = test
        arrays[f"pool{seed}"] = np.setdiff1d(np.arange(len(data.y)), test)
    np.savez(path, **arrays)  # type: ignore[arg-type]


def cub(repeats: int, folder: str) -> Part:
    """Measure the experiment as a command, and as a bare script."""
    path = Path(folder, "plan.npz")
    write_plan(path)
    script = [sys.executable, str(Path(__file__).with_name("bare_cub.py")), str(path)]
    bare: dict[str, Any] = {}

    def bare_script() -> float:
        done = subprocess.run(script, check=True, capture_output=True, text=True)
        bare.update(json.loads(done.stdout))
        return bare["seconds"]

    # Computed each time, not taken from what was kept.
    command = ["-m", "rsbench", "+experiment=cub", "force=true"]
    timed(["-c", LIST_MODULES], folder)()
    seconds = common.take_turns(
        {
            "bare script": bare_script,
            "imports": timed(["-c", IMPORT_MODULES], folder),
            "command": timed(command, folder),
            "untracked": timed([*command, "tracking=none"], folder),
        },
        repeats,
    )
    compute, whole = _compare(seconds)
    lines = [
        *common.ratio_table(compute, f"`+experiment=cub`, 9 methods x {SEEDS} seeds"),
        "",
        *common.ratio_table(whole, "`+experiment=cub`, whole commands"),
        "",
        _agreement(Path(folder), bare["test_error"]),
        "",
    ]
    return lines, {"compute": compute, "whole": whole}


def _compare(seconds: Seconds) -> tuple[common.Ratios, common.Ratios]:
    """Compare with and without imports, by sums and differences within a round."""
    computing: list[float] = []
    imports_and_script: list[float] = []
    rounds = zip(
        seconds["bare script"], seconds["imports"], seconds["command"], strict=True
    )
    for script, imports, command in rounds:
        computing.append(command - imports)
        imports_and_script.append(script + imports)
    compute = {
        "bare script": seconds["bare script"],
        "compute and logging": computing,
    }
    whole = {
        "imports and bare script": imports_and_script,
        "whole command": seconds["command"],
        "whole command, tracking=none": seconds["untracked"],
    }
    return (
        common.ratios(compute, "bare script"),
        common.ratios(whole, "imports and bare script"),
    )


def _agreement(folder: Path, bare: dict[str, float]) -> str:
    """Say whether command and script came to the same errors, having the same work."""
    apart = {}
    for run in find_records(folder / "outputs" / "sweeps"):
        last = float(run.mean("test_error")[-1])
        apart[run.info.method] = abs(last - bare[run.info.method])
    worst = max(apart, key=lambda method: apart[method])
    return (
        "Largest difference in a method's last test error, command against script: "
        f"{apart[worst]:.4f} ({worst})."
    )


def tracking(repeats: int, folder: str) -> Part:
    """Measure what sending a run to MLflow costs, beside computing it.

    Imports and the store's making are not in it.
    """
    tracker = Tracker(f"sqlite:///{folder}/benchmark.db", "benchmark")
    rows = []
    values = {}
    for seeds in (SEEDS, 100):
        run = _untracked_run(seeds, folder)
        seconds = common.take_turns({"send": _sender(tracker, run)}, repeats)
        sending = statistics.median(seconds["send"])
        computing = run.info.seconds
        name = f"{seeds} seeds"
        values[name] = sending / computing
        numbers = [common.number(computing), common.number(sending)]
        rows.append([name, *numbers, f"{values[name]:.3f}"])
    titles = [
        "`+experiment=cub method=ellipsotron`",
        "computing s",
        "sending s",
        "sending / computing",
    ]
    return [*common.table(titles, rows), ""], values


def _untracked_run(seeds: int, folder: str) -> Run:
    """Compute a run of so many seeds, and return its record."""
    words = [
        "+experiment=cub",
        "method=ellipsotron",
        f"seeds={seeds}",
        "tracking=none",
        "force=true",
        f"hydra.sweep.dir=tracked{seeds}",
    ]
    timed(["-m", "rsbench", *words], folder)()
    (run,) = find_records(Path(folder, f"tracked{seeds}"))
    return run


def _sender(tracker: Tracker, run: Run) -> Callable[[], None]:
    def send() -> None:
        # A new id each time: the store would take the same one for sent already.
        info = dataclasses.replace(run.info, id=uuid.uuid4().hex)
        tracker.send_run(dataclasses.replace(run, info=info), None)

    return send


def startup(repeats: int, folder: str) -> Part:
    """Measure commands in which starting is most of the work."""
    small_run = [
        "dataset.classes=4",
        "dataset.samples=12",
        "protocol.samples_per_class=5",
        "seeds=1",
        "tracking=none",
    ]
    svm_help = ["learner=svm_ff", "--help"]
    commands = {
        "import hydra, compose an empty app": ["-c", EMPTY_APP],
        "import hydra": ["-c", "import hydra"],
        "--help": ["-m", "rsbench", "--help"],
        "learner=svm_ff --help (by Hydra)": ["-m", "rsbench", *svm_help],
        "plugins": ["-m", "rsbench", "plugins"],
        "a trivial run, tracking=none": ["-m", "rsbench", *small_run],
    }
    contestants = {name: timed(words, folder) for name, words in commands.items()}
    seconds = common.take_turns(contestants, repeats)
    found = common.ratios(seconds, "import hydra, compose an empty app")
    return [*common.ratio_table(found, "start-up"), ""], found


def main(quick: bool) -> Part:
    """Measure all of it, in a folder that is removed at the end."""
    repeats = {"start-up": 9, "cub": 5, "tracking": 9}
    if quick:
        repeats = {"start-up": 3, "cub": 2, "tracking": 2}
    parts = {"start-up": startup, "cub": cub, "tracking": tracking}
    lines = common.introduction("Whole commands", __doc__)
    values = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in parts.items():
            more, values[name] = measure(repeats[name], folder)
            lines += more
    return lines, values


if __name__ == "__main__":
    common.run_alone(main)
