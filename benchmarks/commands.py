"""Whole commands: `+experiment=cub` with MLflow beside a bare script of its updates and tests, and start-up.

The bare script (bare_cub.py) gets its arrays ready made. Imports are all modules that the command has loaded at its end
but rsbench's own; compute and logging is the whole command less those. Each is a process of its own, in turn. An empty
app is `import hydra` and composing its own config, nothing else.
"""

import csv
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

from rsbench.core.seeds import stream
from rsbench.datasets.cub import CUB
from rsbench.plugins import registry
from rsbench.protocols import PerClass
from rsbench.store import record as results
from rsbench.tracking.mirror import Tracker

#: Runs the command and leaves the names of the modules it has loaded.
LIST_MODULES = """
import json, sys
from rsbench.__main__ import main
sys.argv[1:] = ["+experiment=cub", "force=true"]
main()
names = [name for name in sys.modules if not name.startswith(("rsbench", "__main__"))]
json.dump(names, open("modules.json", "w"))
"""
IMPORT_MODULES = """
import contextlib, importlib, json
for name in json.load(open("modules.json")):
    with contextlib.suppress(Exception):
        importlib.import_module(name)
"""
EMPTY = """
from hydra import compose, initialize
with initialize(version_base="1.3", config_path=None):
    compose()
"""


def timed(words: list[str], folder: str) -> Callable[[], float]:
    """A process that runs Python with these words, in seconds."""

    def run() -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *words], cwd=folder, check=True, capture_output=True
        )
        return time.perf_counter() - start

    return run


def plan(path: Path, seeds: int = 5) -> None:
    """The arrays of the experiment, for the bare script."""
    data = CUB().load()
    arrays = {"X": data.features, "y": data.y, "Z": data.Z, "seeds": np.array(seeds)}
    for seed in range(seeds):
        steps, test = PerClass().plan(data.y, data.test, stream(seed, "plan"))
        pool = np.setdiff1d(np.arange(len(data.y)), test)
        arrays |= {
            f"steps{seed}": np.array(steps),
            f"test{seed}": test,
            f"pool{seed}": pool,
        }
    np.savez(path, **arrays)  # type: ignore[arg-type]


def cub(repeats: int, folder: str) -> tuple[list[str], dict[str, Any]]:
    path = Path(folder, "plan.npz")
    plan(path)
    script = [str(Path(__file__).with_name("bare_cub.py")), str(path)]
    bare: list[dict[str, Any]] = []

    def bare_script() -> float:
        done = subprocess.run(
            [sys.executable, *script], check=True, capture_output=True, text=True
        )
        bare.append(json.loads(done.stdout))
        return bare[-1]["seconds"]

    command = [
        "-m",
        "rsbench",
        "+experiment=cub",
        "force=true",
    ]  # computed each time, not reused
    timed(["-c", LIST_MODULES], folder)()
    seconds = common.take_turns(
        {
            "bare script": bare_script,
            "imports": timed(["-c", IMPORT_MODULES], folder),
            "command": timed(command, folder),
            "command, tracking=none": timed([*command, "tracking=none"], folder),
        },
        repeats,
    )
    rounds = list(zip(*seconds.values(), strict=True))
    together: common.Seconds = {
        "bare script": [script for script, *_ in rounds],
        "compute and logging": [whole - imports for _, imports, whole, _ in rounds],
        "imports and bare script": [script + imports for script, imports, *_ in rounds],
        "whole command": [whole for _, _, whole, _ in rounds],
        "whole command, tracking=none": [untracked for *_, untracked in rounds],
    }
    first = common.ratios(
        {name: together[name] for name in ("bare script", "compute and logging")},
        "bare script",
    )
    rest = [name for name in together if name not in first]
    second = common.ratios(
        {name: together[name] for name in rest}, "imports and bare script"
    )
    lines = [*common.ratio_table(first, "`+experiment=cub`, 7 methods x 5 seeds"), ""]
    lines += [
        *common.ratio_table(second, "`+experiment=cub`, whole commands"),
        "",
        _agreement(Path(folder), bare[-1]),
        "",
    ]
    return lines, {"compute": first, "whole": second}


def _agreement(folder: Path, bare: dict[str, Any]) -> str:
    """Whether the command and the script came to the same errors: they are to do the same work."""
    apart = {}
    for file in sorted(folder.glob("outputs/sweeps/*/*/curves.csv")):
        method = json.loads(file.with_name("run.json").read_text())["method"]
        with open(file) as rows:
            errors = [
                float(row["test_error"])
                for row in csv.DictReader(rows)
                if row["step"] == "25"
            ]
        apart[method] = abs(float(np.mean(errors)) - bare["test_error"][method])
    worst = max(apart, key=lambda method: apart[method])
    return f"Largest difference in a method's last test error, command against script: {apart[worst]:.4f} ({worst})."


def tracking(repeats: int, folder: str) -> tuple[list[str], dict[str, Any]]:
    """What sending a run to MLflow costs, beside computing it: imports and the store's making are not in it."""
    tracker = Tracker(f"sqlite:///{folder}/benchmark.db", "benchmark")
    lines = [
        "| `+experiment=cub method=ellipsotron` | computing s | sending s | sending / computing |"
    ]
    lines.append("|---|---:|---:|---:|")
    values = {}
    for seeds in (5, 100):
        words = [
            "+experiment=cub",
            "method=ellipsotron",
            f"seeds={seeds}",
            "tracking=none",
            "force=true",
        ]
        timed(["-m", "rsbench", *words, f"hydra.sweep.dir=tracked{seeds}"], folder)()
        (run,) = results.find(Path(folder, f"tracked{seeds}"))

        def send(run: results.Run = run) -> None:
            run.info["id"] = uuid.uuid4().hex  # a new one for the store
            tracker.send_run(run, None)

        sending = statistics.median(common.take_turns({"send": send}, repeats)["send"])
        values[f"{seeds} seeds"] = sending / run.info["seconds"]
        cells = [
            *(common.number(value) for value in (run.info["seconds"], sending)),
            f"{values[f'{seeds} seeds']:.3f}",
        ]
        lines.append(f"| {seeds} seeds | {' | '.join(cells)} |")
    return [*lines, ""], values


def startup(repeats: int, folder: str) -> tuple[list[str], dict[str, Any]]:
    small = [
        "dataset.classes=4",
        "dataset.samples=12",
        "protocol.samples_per_class=5",
        "seeds=1",
        "tracking=none",
    ]
    seconds = common.take_turns(
        {
            "import hydra, compose an empty app": timed(["-c", EMPTY], folder),
            "import hydra": timed(["-c", "import hydra"], folder),
            "--help": timed(["-m", "rsbench", "--help"], folder),
            "learner=svm_ff --help (by Hydra)": timed(
                ["-m", "rsbench", "learner=svm_ff", "--help"], folder
            ),
            "plugins": timed(["-m", "rsbench", "plugins"], folder),
            "a trivial run, tracking=none": timed(["-m", "rsbench", *small], folder),
        },
        repeats,
    )
    found = common.ratios(seconds, "import hydra, compose an empty app")
    return [*common.ratio_table(found, "start-up"), ""], found


def main(quick: bool) -> tuple[list[str], dict[str, Any]]:
    registry.load()
    lines = [
        "## Whole commands",
        "",
        __doc__.partition("\n\n")[2].strip().replace("\n", " "),
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        start_lines, start_values = startup(3 if quick else 9, folder)
        cub_lines, cub_values = cub(2 if quick else 5, folder)
        track_lines, track_values = tracking(2 if quick else 9, folder)
    values = {"start-up": start_values, "cub": cub_values, "tracking": track_values}
    return [*lines, *start_lines, *cub_lines, *track_lines], values


if __name__ == "__main__":
    common.alone(main)
