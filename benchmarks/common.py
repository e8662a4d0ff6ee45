"""What the benchmarks share: turns, ratios with their spread, tables, the machine."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# As on the command line: one thread, so that ratios do not depend on the number of
# cores. BLAS reads these once, when numpy is first imported: import this module before.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

#: By contestant, the seconds of each round.
Seconds = dict[str, list[float]]

#: By contestant, figures such as the median ratio to a reference.
Ratios = dict[str, dict[str, float]]

#: What a part of the benchmarks gives: lines of markdown, and its figures for JSON.
Part = tuple[list[str], dict[str, Any]]


def take_turns(contestants: Mapping[str, Callable[[], Any]], repeats: int) -> Seconds:
    """Run contestants in turn and return the seconds of each in each round.

    Turns, since a machine's speed drifts: within a round it hits all of them alike.

    Parameters
    ----------
    contestants : mapping of str to callable
        One that returns a float has measured itself; others are timed.
    repeats : int
        Rounds that count, after a first one that does not.
    """
    seconds: Seconds = {name: [] for name in contestants}
    for number in range(repeats + 1):
        for name, run in contestants.items():
            start = time.perf_counter()
            own = run()
            took = time.perf_counter() - start
            if isinstance(own, float):
                took = own
            if number:  # the first round fills caches
                seconds[name].append(took)
    return seconds


def ratios(seconds: Seconds, reference: str) -> Ratios:
    """Return how many times as long as the reference each contestant took.

    Ratios are taken within a round: their median, lowest and highest. `best` is that
    of the best times, which noise touches least.
    """
    base = seconds[reference]
    found = {}
    for name, values in seconds.items():
        rounds = [mine / its for mine, its in zip(values, base, strict=True)]
        found[name] = {
            "median": statistics.median(rounds),
            "low": min(rounds),
            "high": max(rounds),
            "best": min(values) / min(base),
            "seconds": statistics.median(values),
        }
    return found


def number(value: float) -> str:
    """Return a number with three digits, whatever its size."""
    if value >= 100:  # of which .3g would make 1.23e+03
        return f"{value:.0f}"
    return f"{value:.3g}"


def ratio_cells(found: Mapping[str, float]) -> list[str]:
    """Return a contestant's median ratio, spread and best ratio as cells of a table."""
    spread = f"{number(found['low'])}–{number(found['high'])}"
    return [number(found["median"]), spread, number(found["best"])]


def ratio_table(
    found: Ratios, what: str, unit: float = 1.0, unit_name: str = "s"
) -> list[str]:
    """Return a table of ratios in markdown, a row for each contestant.

    Parameters
    ----------
    found : Ratios
        What `ratios` gave.
    what : str
        Title of the first column.
    unit : float
        Seconds are shown times this.
    unit_name : str
        What they are then.
    """
    titles = [what, f"median {unit_name}", "ratio", "spread", "best / best"]
    rows = []
    for name, ratio in found.items():
        rows.append([name, number(ratio["seconds"] * unit), *ratio_cells(ratio)])
    return table(titles, rows)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in markdown: a column of names, then columns of numbers."""
    ruler = "|---|" + "---:|" * (len(titles) - 1)
    lines = [f"| {' | '.join(titles)} |", ruler]
    for row in rows:
        lines.append(f"| {' | '.join(row)} |")
    return lines


def introduction(title: str, doc: str | None) -> list[str]:
    """Return a heading, and what a module's docstring explains after its first line."""
    assert doc is not None
    _, _, explained = doc.partition("\n\n")
    return [f"## {title}", "", explained.strip().replace("\n", " "), ""]


def machine() -> dict[str, Any]:
    """Return processor, cores, load and versions."""
    import numpy as np

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": os.environ["OMP_NUM_THREADS"],
        "load at the start": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas['name']} {blas['version']}",
    }


def _processor() -> str:
    """Return the processor's model; on Linux `platform` has no word for it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if "model name" in line:
                return line.partition(":")[2].strip()
    return platform.processor()


def run_alone(main: Callable[[bool], Part]) -> None:
    """Run one part of the benchmarks by itself, and print its tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, smaller budgets"
    )
    lines, _ = main(parser.parse_args().quick)
    print("\n".join(lines))


def write(folder: Path, name: str, lines: Iterable[str], values: Any) -> None:
    """Write tables as markdown and their figures as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    figures = json.dumps(values, indent=1) + "\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}.json").write_text(figures, encoding="utf-8")
