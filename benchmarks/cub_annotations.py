"""How fast CUB's annotation rows are read, beside the fastest plain readers: ratios from one run.

    python benchmarks/cub_annotations.py [FOLDER/attributes/image_attribute_labels.txt]

Without a file, one of the official size (3,677,856 rows, a few of them with an extra column) is made.
The plain readers parse the same four columns and stop there; rsbench's also checks every row against the
lists of images and attributes, and fills the two tables. Each runs in a process of its own, in turn,
`--repeats` times; the ratio is of medians, memory is the peak above that of a process that only imports.
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

IMAGES, ATTRIBUTES = 11_788, 312


def make(path: Path) -> None:
    """A file like the official one: whole numbers, then seconds with three digits."""
    import numpy as np

    rng = np.random.default_rng(0)
    with open(path, "w") as out:
        for image in range(1, IMAGES + 1):
            present, certainty = (
                rng.integers(0, 2, ATTRIBUTES),
                rng.integers(1, 5, ATTRIBUTES),
            )
            seconds = rng.random(ATTRIBUTES) * 30
            out.writelines(
                f"{image} {a + 1} {present[a]} {certainty[a]} {'0 ' if a == 9 and image % 1000 == 0 else ''}"
                f"{seconds[a]:.3f}\n"
                for a in range(ATTRIBUTES)
            )


def rsbench(path: str) -> None:
    from rsbench.datasets.cub_files import read_annotations

    with open(path, "rb") as file:
        file.seek(-200, os.SEEK_END)
        images = int(file.read().splitlines()[-1].split()[0])
    read_annotations(
        Path(path), tuple(range(1, images + 1)), tuple(range(1, ATTRIBUTES + 1))
    )


def pyarrow(path: str) -> None:
    import pyarrow as pa
    from pyarrow import csv

    names = ["image", "attribute", "present", "certainty", "time"]
    csv.read_csv(
        path,
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=" ", invalid_row_handler=lambda row: "skip"),
        csv.ConvertOptions(
            include_columns=names[:4], column_types=dict.fromkeys(names[:4], pa.int32())
        ),
    )


def pandas(path: str) -> None:
    import numpy as np
    import pandas

    # With six names rows of five or six fields are read alike; low_memory reads in pieces that may have but five.
    pandas.read_csv(
        path,
        sep=" ",
        header=None,
        names=range(6),
        usecols=range(4),
        dtype=np.int32,
        low_memory=False,
    )


def numpy(path: str) -> None:
    import numpy as np

    np.loadtxt(path, usecols=range(4), dtype=np.int32)


def python(path: str) -> None:
    with open(path) as file:
        for line in file:
            fields = line.split()
            _ = int(fields[0]), int(fields[1]), int(fields[2]), int(fields[3])


READERS = {
    reader.__name__: reader for reader in (rsbench, pyarrow, pandas, numpy, python)
}


def measure(name: str, path: str, small: str) -> tuple[float, float]:
    """Seconds and peak memory of one reading; a first, tiny one pays for imports."""
    READERS[name](small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    READERS[name](path)
    seconds = time.perf_counter() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="image_attribute_labels.txt")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path, small = (
            args.file or os.path.join(folder, "rows.txt"),
            os.path.join(folder, "small.txt"),
        )
        if not args.file:
            make(Path(path))
        Path(small).write_text(
            "".join(
                f"1 {a} 0 3 {'0 ' if a == 9 else ''}1.0\n"
                for a in range(1, ATTRIBUTES + 1)
            )
        )
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
        for _ in range(args.repeats):
            for name in READERS:
                with ProcessPoolExecutor(1, spawn) as pool:
                    found[name].append(pool.submit(measure, name, path, small).result())
        size = os.path.getsize(path) / 1e6
    floor = min(
        statistics.median(s for s, _ in found[name])
        for name in READERS
        if name != "rsbench"
    )
    print(f"{size:.0f} MB, {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    print(
        "| reader | median s | spread s | ratio to the fastest plain one | memory MB |\n|---|---:|---:|---:|---:|"
    )
    for name, runs in found.items():
        seconds = [s for s, _ in runs]
        middle = statistics.median(seconds)
        print(
            f"| {name} | {middle:.2f} | {min(seconds):.2f}–{max(seconds):.2f} | {middle / floor:.2f} "
            f"| {statistics.median(m for _, m in runs):.0f} |"
        )


if __name__ == "__main__":
    main()
