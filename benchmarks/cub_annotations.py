"""Time the reading of CUB's annotation rows, beside the fastest plain readers.

    python benchmarks/cub_annotations.py [FOLDER/attributes/image_attribute_labels.txt]

Without a file, one of the official size (3,677,856 rows, a few of them with an extra
column) is made. The plain readers parse the same four columns and stop there; rsbench's
also checks every row against the lists of images and attributes, and fills the two
tables. Each runs in a process of its own, in turn, `--repeats` times; the ratio is of
medians, memory is the peak above that of a process that only imports.
"""

# Without common.py, whose one thread for BLAS would be pyarrow's number of threads too.
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

IMAGES = 11_788
ATTRIBUTES = 312


def write_rows(path: Path) -> None:
    """Write a file like the official one: whole numbers, then seconds."""
    import numpy as np

    rng = np.random.default_rng(0)
    with open(path, "w") as out:
        for image in range(1, IMAGES + 1):
            present = rng.integers(0, 2, ATTRIBUTES)
            certainty = rng.integers(1, 5, ATTRIBUTES)
            seconds = rng.random(ATTRIBUTES) * 30
            for a in range(ATTRIBUTES):
                extra = ""
                if a == 9 and image % 1000 == 0:
                    extra = "0 "
                marks = f"{present[a]} {certainty[a]}"
                out.write(f"{image} {a + 1} {marks} {extra}{seconds[a]:.3f}\n")


def write_one_image(path: Path) -> None:
    """Write the rows of a single image, one of them with an extra column."""
    with open(path, "w") as out:
        for a in range(1, ATTRIBUTES + 1):
            extra = ""
            if a == 9:
                extra = "0 "
            out.write(f"1 {a} 0 3 {extra}1.0\n")


def rsbench(path: str) -> None:
    """Read and check rows as the data set does."""
    from rsbench.datasets.cub_files import read_annotations

    # The number of images is that of the last row.
    with open(path, "rb") as file:
        file.seek(-200, os.SEEK_END)
        last_row = file.read().splitlines()[-1]
    images = int(last_row.split()[0])
    read_annotations(
        Path(path), tuple(range(1, images + 1)), tuple(range(1, ATTRIBUTES + 1))
    )


def pyarrow(path: str) -> None:
    """Parse by pyarrow on all cores, which can but skip rows with an extra column."""
    import pyarrow as pa
    from pyarrow import csv

    names = ["image", "attribute", "present", "certainty", "time"]
    wanted = names[:4]
    csv.read_csv(
        path,
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=" ", invalid_row_handler=lambda row: "skip"),
        csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.int32())
        ),
    )


def pandas(path: str) -> None:
    """Parse by pandas."""
    import numpy as np
    import pandas

    # With six names rows of five or six fields are read alike; low_memory reads in
    # pieces that may have but five.
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
    """Parse by numpy."""
    import numpy as np

    np.loadtxt(path, usecols=range(4), dtype=np.int32)


def python(path: str) -> None:
    """Parse by a plain loop."""
    with open(path) as file:
        for line in file:
            fields = line.split()
            _ = int(fields[0]), int(fields[1]), int(fields[2]), int(fields[3])


READERS = {
    "rsbench": rsbench,
    "pyarrow": pyarrow,
    "pandas": pandas,
    "numpy": numpy,
    "python": python,
}


def measure(name: str, path: str, small: str) -> tuple[float, float]:
    """Return seconds and peak memory in MB of one reading.

    A first, tiny one pays for imports.
    """
    READERS[name](small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    READERS[name](path)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, (peak - before) / 1024


def main() -> None:
    """Measure, and print a table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="image_attribute_labels.txt")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    # A forked process would have the imports, and the memory, of this one.
    spawn = multiprocessing.get_context("spawn")
    seconds: dict[str, list[float]] = {name: [] for name in READERS}
    memory: dict[str, list[float]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        path = args.file
        if path is None:
            path = os.path.join(folder, "rows.txt")
            write_rows(Path(path))
        small = os.path.join(folder, "small.txt")
        write_one_image(Path(small))
        for _ in range(args.repeats):
            for name in READERS:
                with ProcessPoolExecutor(1, spawn) as pool:
                    took, peak = pool.submit(measure, name, path, small).result()
                seconds[name].append(took)
                memory[name].append(peak)
        size = os.path.getsize(path) / 1e6
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    floor = min(median for name, median in medians.items() if name != "rsbench")
    print(f"{size:.0f} MB, {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    print(
        "| reader | median s | spread s | ratio to the fastest plain one | memory MB |"
    )
    print("|---|---:|---:|---:|---:|")
    for name, times in seconds.items():
        spread = f"{min(times):.2f}–{max(times):.2f}"
        ratio = medians[name] / floor
        peak = statistics.median(memory[name])
        print(f"| {name} | {medians[name]:.2f} | {spread} | {ratio:.2f} | {peak:.0f} |")


if __name__ == "__main__":
    main()
