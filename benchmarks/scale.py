"""Cost against classes, features and samples, with the fitted exponents; and a stream from disk, with its memory.

An exponent of 1 means twice the cost for twice the size. Fitted by least squares on logarithms over the larger half
of the sizes, where constant costs no longer hide it.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from updates import problem

from rsbench.learners import Ellipsotron, Lean

BASE = {"classes": 1000, "features": 512, "samples": 2000}
SWEEPS = {
    "classes": (50, 200, 1000, 4000, 10_000),
    "features": (32, 128, 512, 2048, 4096),
    "samples": (500, 1000, 2000, 4000, 8000),
}


def learn(learner: Any, classes: int, features: int, samples: int) -> float:
    """Seconds for the whole stream, in single precision."""
    p = problem(classes, features, samples, samples, 1, "float32")
    rich = {} if isinstance(learner, Lean) else {"relevance": p.R}
    start = time.perf_counter()
    learner.partial_fit(p.X, p.y, np.arange(classes), **rich)
    return time.perf_counter() - start


def costs(repeats: int) -> tuple[list[str], dict[str, Any]]:
    lines = [
        "| changed | learner | size: µs per sample | exponent |",
        "|---|---|---|---:|",
    ]
    values: dict[str, Any] = {}
    for axis, sizes in SWEEPS.items():
        for cls in (Lean, Ellipsotron):
            seconds = [
                min(learn(cls(), **{**BASE, axis: size}) for _ in range(repeats))
                for size in sizes
            ]
            each = [
                s / (size if axis == "samples" else BASE["samples"]) * 1e6
                for s, size in zip(seconds, sizes, strict=True)
            ]
            half = len(sizes) // 2
            exponent = float(
                np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0]
            )
            values[f"{axis}, {cls.__name__}"] = {
                "sizes": sizes,
                "microseconds": each,
                "exponent": exponent,
            }
            cells = ", ".join(
                f"{size:,}: {common.number(value)}"
                for size, value in zip(sizes, each, strict=True)
            )
            lines.append(
                f"| {axis} | {cls.__name__.lower()} | {cells} | {exponent:.2f} |"
            )
    return lines, values


def make_stream(folder: Path, samples: int, features: int, classes: int) -> None:
    """Arrays on disk, written in parts."""
    rng = np.random.default_rng(0)
    prototypes = rng.normal(size=(classes, features)).astype(np.float32)
    y = np.arange(samples) % classes
    X = np.lib.format.open_memmap(
        folder / "X.npy", "w+", np.float32, (samples, features)
    )
    Z = np.lib.format.open_memmap(folder / "Z.npy", "w+", np.bool_, (samples, features))
    for start in range(0, samples, 20_000):
        rows = slice(start, min(samples, start + 20_000))
        size = (rows.stop - start, features)
        # Little noise: on hopeless samples the steps of learners with few marked features grow without end.
        X[rows] = prototypes[y[rows]] + 0.5 * rng.standard_normal(
            size, dtype=np.float32
        )
        Z[rows] = rng.random(size, dtype=np.float32) < 0.1
    np.save(folder / "y.npy", y)
    np.save(
        folder / "test.npy", np.arange(samples) // classes % 100 == 0
    )  # one in a hundred, of every class


def from_disk(samples: int) -> tuple[list[str], dict[str, Any]]:
    """A whole command on data from disk: its peak of resident memory, mapped pages of the files included."""
    features, classes = 512, 1000
    lines = [
        "| method | seconds | peak memory MB | above the weights and a run of 2,000 samples MB |",
        "|---|---:|---:|---:|",
    ]
    values: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        for part, count in (("small", 2000), ("large", samples)):
            (folder := Path(name, part)).mkdir()
            make_stream(folder, count, features, classes)
        for method in ("lean", "ellipsotron", "class_soft"):
            peaks, seconds = {}, 0.0
            for part in ("small", "large"):
                last = int(0.98 * (~np.load(Path(name, part, "test.npy"))).sum())
                words = [
                    "dataset=arrays",
                    f"dataset.path={Path(name, part)}",
                    "protocol=stream",
                    "protocol.test=mask",
                ]
                words += [
                    f"protocol.test_at=[{last // 2},{last}]",
                    f"method={method}",
                    "seeds=1",
                    "tracking=none",
                ]
                start = time.perf_counter()
                peaks[part] = _peak([sys.executable, "-m", "rsbench", *words], name)
                seconds = time.perf_counter() - start
            above = peaks["large"] - peaks["small"]
            values[method] = {
                "seconds": seconds,
                "peak_mb": peaks["large"],
                "small_mb": peaks["small"],
            }
            lines.append(
                f"| {method} | {seconds:.0f} | {peaks['large']:.0f} | {above:.0f} |"
            )
    return lines, values


def _peak(command: list[str], folder: str) -> float:
    """Peak of resident memory of a command, in MB, from a process that has no other children."""
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, "
    script += "stderr=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout) / (1024 if sys.platform != "darwin" else 1024**2)


def main(quick: bool) -> tuple[list[str], dict[str, Any]]:
    cost_lines, cost_values = costs(1 if quick else 3)
    samples = 100_000 if quick else 1_000_000
    disk_lines, disk_values = from_disk(samples)
    lines = [
        "## Scale",
        "",
        __doc__.partition("\n\n")[2].strip().replace("\n", " "),
        "",
    ]
    lines += [
        "Around 1,000 classes, 512 features and 2,000 samples, float32:",
        "",
        *cost_lines,
        "",
    ]
    lines += [
        f"### A stream of {samples:,} x 512 float32 from disk, 1,000 classes",
        "",
        *disk_lines,
        "",
    ]
    return lines, {"costs": cost_values, "from disk": disk_values, "samples": samples}


if __name__ == "__main__":
    common.alone(main)
