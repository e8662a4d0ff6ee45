"""What the benchmarks share: taking turns, ratios with their spread, tables, and what they ran on."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# As on the command line: one thread, so that ratios do not depend on the number of cores.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

Seconds = dict[str, list[float]]


def take_turns(contestants: dict[str, Callable[[], Any]], repeats: int) -> Seconds:
    """Seconds of each contestant in each round; a contestant may return its own measure, else it is timed."""
    seconds: Seconds = {name: [] for name in contestants}
    for number in range(repeats + 1):
        for name, run in contestants.items():
            start = time.perf_counter()
            own = run()
            took = own if isinstance(own, float) else time.perf_counter() - start
            if number:  # the first round fills caches
                seconds[name].append(took)
    return seconds


def ratios(seconds: Seconds, reference: str) -> dict[str, dict[str, float]]:
    """How many times as long as the reference each took: the median over rounds, the spread, and best against best."""
    found = {}
    for name, values in seconds.items():
        rounds = [a / b for a, b in zip(values, seconds[reference], strict=True)]
        found[name] = {
            "median": statistics.median(rounds),
            "low": min(rounds),
            "high": max(rounds),
            "best": min(values) / min(seconds[reference]),
            "seconds": statistics.median(values),
        }
    return found


def number(value: float) -> str:
    """Three digits, whatever the size."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio_table(
    found: dict[str, dict[str, float]],
    what: str,
    unit: float = 1.0,
    unit_name: str = "s",
) -> list[str]:
    """Rows of a table of ratios."""
    lines = [
        f"| {what} | median {unit_name} | ratio | spread | best / best |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, r in found.items():
        spread = f"{number(r['low'])}–{number(r['high'])}"
        cells = [
            number(r["seconds"] * unit),
            number(r["median"]),
            spread,
            number(r["best"]),
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions."""
    import numpy as np

    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": os.environ["OMP_NUM_THREADS"],
        "load at the start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
    }


def alone(main: Callable[[bool], tuple[list[str], Any]]) -> None:
    """Run one part of the benchmarks by itself, and print its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, smaller budgets"
    )
    lines, _ = main(parser.parse_args().quick)
    print("\n".join(lines))


def write(folder: Path, name: str, lines: Iterable[str], values: Any) -> None:
    """The table as markdown and its figures as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / f"{name}.json").write_text(
        json.dumps(values, indent=1) + "\n", encoding="utf-8"
    )
