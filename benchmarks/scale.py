"""Measure cost against classes, features and samples; and a stream from disk.

An exponent of 1 means twice the cost for twice the size. Fitted by least squares on
logarithms over the larger half of the sizes, where constant costs no longer hide it.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common  # before numpy: it settles the number of threads
import numpy as np
from common import Part
from updates import Shape, make_problem

from rsbench.learners import Ellipsotron, Lean

BASE = {"classes": 1000, "features": 512, "samples": 2000}

#: One of them is changed at a time.
SWEEPS = {
    "classes": (50, 200, 1000, 4000, 10_000),
    "features": (32, 128, 512, 2048, 4096),
    "samples": (500, 1000, 2000, 4000, 8000),
}

#: The stream from disk, and the short one whose memory it is compared with.
FEATURES = 512
CLASSES = 1000
SHORT = 2000

#: Prints the peak of a command's memory, from a process that has no other children.
PEAK_OF = """
import resource, subprocess, sys
quiet = subprocess.DEVNULL
subprocess.run(sys.argv[1:], check=True, stdout=quiet, stderr=quiet)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def learn(learner: Any, classes: int, features: int, samples: int) -> float:
    """Return the seconds of learning a whole stream, in single precision."""
    shape = Shape(classes, features, samples, step=samples, tests=1)
    p = make_problem(shape, "float32")
    rich = {"relevance": p.R}
    if isinstance(learner, Lean):
        rich = {}
    start = time.perf_counter()
    learner.partial_fit(p.X, p.y, np.arange(classes), **rich)
    return time.perf_counter() - start


def costs(repeats: int) -> Part:
    """Measure how the cost of a sample grows with each size."""
    lines = [
        "| changed | learner | size: µs per sample | exponent |",
        "|---|---|---|---:|",
    ]
    values: dict[str, Any] = {}
    for axis, sizes in SWEEPS.items():
        for cls in (Lean, Ellipsotron):
            seconds: list[float] = []
            microseconds: list[float] = []
            cells: list[str] = []
            for size in sizes:
                shape = {**BASE, axis: size}
                best = min(learn(cls(), **shape) for _ in range(repeats))
                each = best / shape["samples"] * 1e6
                seconds.append(best)
                microseconds.append(each)
                cells.append(f"{size:,}: {common.number(each)}")
            exponent = _exponent(sizes, seconds)
            values[f"{axis}, {cls.__name__}"] = {
                "sizes": sizes,
                "microseconds": microseconds,
                "exponent": exponent,
            }
            name = cls.__name__.lower()
            lines.append(f"| {axis} | {name} | {', '.join(cells)} | {exponent:.2f} |")
    return lines, values


def _exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Return the slope of costs against sizes, both as logarithms."""
    half = len(sizes) // 2
    slope, _ = np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)
    return float(slope)


def write_stream(folder: Path, samples: int) -> None:
    """Write a stream of samples as arrays, in parts: it may not fit into memory."""
    rng = np.random.default_rng(0)
    prototypes = rng.normal(size=(CLASSES, FEATURES)).astype(np.float32)
    y = np.arange(samples) % CLASSES
    shape = (samples, FEATURES)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, shape)
    Z = np.lib.format.open_memmap(folder / "Z.npy", "w+", np.bool_, shape)
    for start in range(0, samples, 20_000):
        rows = slice(start, min(samples, start + 20_000))
        size = (rows.stop - start, FEATURES)
        # Little noise: on hopeless samples the steps of learners with few marked
        # features grow without end.
        noise = 0.5 * rng.standard_normal(size, dtype=np.float32)
        X[rows] = prototypes[y[rows]] + noise
        Z[rows] = rng.random(size, dtype=np.float32) < 0.1
    np.save(folder / "y.npy", y)
    # One in a hundred, of every class.
    np.save(folder / "test.npy", np.arange(samples) // CLASSES % 100 == 0)


def from_disk(samples: int) -> Part:
    """Measure whole commands on data from disk: seconds and peak memory.

    Memory is all that is resident, mapped pages of the files included.
    """
    titles = ["method", "seconds", "peak memory MB"]
    titles.append(f"above the weights and a run of {SHORT:,} samples MB")
    rows = []
    values: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        small = Path(name, "small")
        large = Path(name, "large")
        for folder, count in ((small, SHORT), (large, samples)):
            folder.mkdir()
            write_stream(folder, count)
        # By itself; and with what it is judged by, of which shuffled annotations keep
        # all votes in memory.
        for method, settings in (
            ("lean", "method=lean"),
            ("ellipsotron", "method=ellipsotron counterparts=false"),
            ("class_soft", "method=class_soft counterparts=false"),
            ("ellipsotron and what it is judged by", "method=ellipsotron"),
        ):
            small_mb = _peak(settings, small)
            start = time.perf_counter()
            peak_mb = _peak(settings, large)
            seconds = time.perf_counter() - start
            values[method] = {
                "seconds": seconds,
                "peak_mb": peak_mb,
                "small_mb": small_mb,
            }
            numbers = (seconds, peak_mb, peak_mb - small_mb)
            rows.append([method, *(f"{value:.0f}" for value in numbers)])
    return common.table(titles, rows), values


def _peak(settings: str, data: Path) -> float:
    """Return the peak of resident memory of a run on a stream from disk, in MB."""
    test = np.load(data / "test.npy")
    # The last test comes shortly before the end of the stream.
    last = int(0.98 * (~test).sum())
    command = [
        *(sys.executable, "-m", "rsbench"),
        "dataset=arrays",
        f"dataset.path={data}",
        "protocol=stream",
        "protocol.test=mask",
        f"protocol.test_at=[{last // 2},{last}]",
        *settings.split(),
        "seeds=1",
        "tracking=none",
    ]
    done = subprocess.run(
        [sys.executable, "-c", PEAK_OF, *command],
        cwd=data.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    # In kilobytes, on macOS in bytes.
    unit = 1024
    if sys.platform == "darwin":
        unit = 1024**2
    return int(done.stdout) / unit


def main(quick: bool) -> Part:
    """Measure both."""
    repeats = 3
    samples = 1_000_000
    if quick:
        repeats = 1
        samples = 100_000
    cost_lines, cost_values = costs(repeats)
    disk_lines, disk_values = from_disk(samples)
    lines = [
        *common.introduction("Scale", __doc__),
        "Around 1,000 classes, 512 features and 2,000 samples, float32:",
        "",
        *cost_lines,
        "",
        f"### A stream of {samples:,} x 512 float32 from disk, 1,000 classes",
        "",
        *disk_lines,
        "",
    ]
    return lines, {"costs": cost_values, "from disk": disk_values, "samples": samples}


if __name__ == "__main__":
    common.run_alone(main)
