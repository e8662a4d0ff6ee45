"""A run's record on disk: written whole or not at all, and finished by a single rename.

run.json       method, config, fingerprint, seeds, versions, data: what was run
summary.json   mean and standard error at the table's steps
classes.csv    one row per seed and class: its test error at the last step
curves.csv     one row per seed and step; exists only in finished runs, and appears last

The seeds of a run that is not finished are in the cache (see kept.py).
"""

import contextlib
import csv
import functools
import hashlib
import importlib.metadata
import io
import json
import logging
import os
import platform
import subprocess
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench import __version__
from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.files.atomic import write_whole

log = logging.getLogger(__name__)

COLUMNS = ("seed", "step", "samples", *MEASURES)
CLASS_COLUMNS = ("seed", "class", "samples", "test_error")
TABLE_STEPS = (5, 10, 20)

#: What run.json says of a run; tables, figures and MLflow are made of it and the curves.
INFO = (
    *(
        "id",
        "method",
        "preprocessor",
        "label",
        "experiment",
        "config",
        "overrides",
        "tracking",
        "fingerprint",
    ),
    *("seeds", "versions", "git_commit", "data", "classes", "unit", "tuned", "seconds"),
)
SWEEP_FILE = "sweep.json"
_SUPERSEDED = "superseded.csv"
ARTIFACTS_FOLDER = "mlflow-artifacts"

#: Settings that cannot change a seed's numbers. Where data come from is none: their content is in the fingerprint
#: itself. Nor is `theta`, but where a method's aggregator takes it over.
NOT_FINGERPRINTED = (
    "seed",
    "seeds",
    "theta",
    "dataset",
    "extractor",
    "tracking",
    "force",
    "on_error",
)

_COMPUTE = ("numpy", "torch", "scikit-learn")
_VERSIONED = (*_COMPUTE, "hydra-core", "omegaconf", "mlflow", "pluggy")


class Record:
    """Writes the record of a run that is going on."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._rows: list[dict[str, float]] = []
        self._classes: list[dict[str, Any]] = []
        self._steps: list[float] = []

    def add(
        self, rows: list[dict[str, float]], per_class: Sequence[dict[str, Any]] = ()
    ) -> None:
        """Keep the rows of one more seed."""
        steps = [row["step"] for row in rows]
        self._steps = self._steps or steps
        if steps != self._steps or len(set(steps)) < len(steps):
            raise UserError(
                "the protocol's steps differ between seeds, or repeat: curves need the same steps for all"
            )
        self._rows += rows
        self._classes += per_class

    def finish(self, info: dict[str, Any]) -> "Run":
        """Write what was run and the summary, then let the curves appear."""
        info = {"id": uuid.uuid4().hex, **info}
        run = Run(self.folder, info, _columns(self._rows))
        write_whole(self.folder / "run.json", _to_json(info))
        write_whole(self.folder / "summary.json", _to_json(run.summary()))
        write_whole(self.folder / "classes.csv", _to_csv(self._classes, CLASS_COLUMNS))
        write_whole(self.folder / "curves.csv", _to_csv(self._rows, COLUMNS))
        (self.folder / _SUPERSEDED).unlink(missing_ok=True)
        return run


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run; each is itself, whatever another one holds."""

    folder: Path
    info: dict[str, Any]
    curves: dict[str, np.ndarray]

    @functools.cached_property
    def steps(self) -> list[int]:
        return sorted({int(step) for step in self.curves["step"]})

    @property
    def seeds(self) -> int:
        return len(np.unique(self.curves["seed"]))

    def answers(self, fingerprint: str, seeds: Iterable[int]) -> bool:
        """Whether computing these seeds would give what is there already."""
        return self.info["fingerprint"] == fingerprint and self.info["seeds"] == list(
            seeds
        )

    @functools.cached_property
    def _order(self) -> np.ndarray:
        return np.lexsort([self.curves["seed"], self.curves["step"]])

    def values(self, measure: str) -> np.ndarray:
        """The measure for each step and seed, (steps, seeds)."""
        return self.curves[measure][self._order].reshape(len(self.steps), -1)

    def mean(self, measure: str) -> np.ndarray:
        """Mean over seeds at each step."""
        return self.values(measure).mean(axis=1)

    def standard_error(self, measure: str) -> np.ndarray:
        """Standard error of the mean over seeds at each step; NaN with a single seed."""
        values = self.values(measure)
        if values.shape[1] < 2:
            return np.full(len(values), np.nan)
        return values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])

    def per_class(self) -> dict[str, tuple[int, float]]:
        """Of each class the samples tested, over all seeds, and their error at the last step; empty in old records."""
        path = self.folder / "classes.csv"
        if not path.exists():
            return {}
        found: dict[str, tuple[int, float]] = {}
        try:
            with open(path, newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    n, wrong = found.get(row["class"], (0, 0.0))
                    new = int(row["samples"])
                    if new < 1:
                        raise ValueError("a class without samples")
                    found[row["class"]] = (
                        n + new,
                        wrong + new * float(row["test_error"]),
                    )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{path}: not readable ({type(error).__name__}: {error})"
            ) from None
        return {name: (n, wrong / n) for name, (n, wrong) in found.items()}

    def table_steps(self) -> list[int]:
        """The paper's 5, 10 and 20, as far as the run goes; else a quarter, half and all of it."""
        in_stream = self.info.get("unit") == "samples"
        found = [step for step in TABLE_STEPS if step in self.steps and not in_stream]
        n = len(self.steps)
        return found or sorted(
            {self.steps[max(0, round(n * part) - 1)] for part in (0.25, 0.5, 1)}
        )

    def summary(self) -> dict[str, Any]:
        """Mean and standard error of every measure at the table's steps."""
        at = {str(step): self.steps.index(step) for step in self.table_steps()}
        return {
            step: {
                measure: {
                    "mean": float(self.mean(measure)[i]),
                    "standard_error": None
                    if self.seeds < 2
                    else float(self.standard_error(measure)[i]),
                }
                for measure in MEASURES
            }
            for step, i in at.items()
        }


def read(folder: Path) -> Run:
    """A finished run from its folder."""
    try:
        info = json.loads((folder / "run.json").read_text())
        missing = [key for key in INFO if key not in info]
        with open(folder / "curves.csv", newline="") as file:
            rows = [
                {key: _number(value) for key, value in row.items()}
                for row in csv.DictReader(file)
            ]
        run = Run(folder, info, _columns(rows))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder}: not a readable run record ({type(error).__name__}: {error})"
        ) from None
    if missing:
        raise UserError(f"{folder / 'run.json'}: {', '.join(missing)} missing")
    _check_info(
        info, sorted(int(seed) for seed in set(run.curves["seed"])), folder / "run.json"
    )
    if not rows or len(rows) != len(run.steps) * run.seeds:
        raise UserError(f"{folder / 'curves.csv'}: expected one row per seed and step")
    return run


def _check_info(info: dict[str, Any], seeds: list[int], path: Path) -> None:
    """Raise an error unless what tables and figures are made of is there, and of the kind they expect."""
    sizes = info.get("samples")
    good = {
        "method": isinstance(info["method"], str),
        "label": isinstance(info["label"], str),
        "preprocessor": isinstance(info["preprocessor"], str),
        "config": isinstance(info["config"], dict),
        "overrides": isinstance(info["overrides"], list),
        "seconds": isinstance(info["seconds"], (int, float)),
        "versions": isinstance(info["versions"], dict),
        "tuned": isinstance(info["tuned"], dict),
        "fingerprint": isinstance(info["fingerprint"], str),
        "data": isinstance(info["data"], dict)
        and {"name", "identity", "simulated"} <= info["data"].keys(),
        "seeds": info["seeds"] == seeds,
        "samples": sizes is None
        or (
            isinstance(sizes, dict)
            and min(sizes.get("pool", 0), sizes.get("test", 0)) > 0
        ),
    }
    wrong = [key for key, is_good in good.items() if not is_good]
    if wrong:
        raise UserError(
            f"{path}: {', '.join(wrong)} not as expected: damaged, or of another version"
        )


def finished(folder: Path) -> Run | None:
    """The finished run in a folder itself; None if there is none, or a damaged one."""
    if not (folder / "curves.csv").exists():
        return None
    with contextlib.suppress(UserError):
        return read(folder)
    return None


def set_aside(folder: Path) -> None:
    """Let a finished run that other code or settings are about to replace be unfinished, and lose nothing of it yet."""
    os.replace(folder / "curves.csv", folder / _SUPERSEDED)


def find(folder: Path, damaged: list[str] | None = None) -> list[Run]:
    """All finished runs in a folder and below, in the order they were planned; `damaged` collects what is not."""
    found = []
    for place, folders, files in os.walk(folder):
        # MLflow keeps copies of records among its artifacts.
        folders[:] = [
            name
            for name in folders
            if name != ARTIFACTS_FOLDER and not name.startswith(".")
        ]
        if {"curves.csv", "run.json"} <= set(files):
            found.append(Path(place))
    runs = []
    for path in sorted(found, key=lambda path: [_natural(part) for part in path.parts]):
        try:
            runs.append(read(path))
        except UserError as error:
            log.warning("left out: %s", error)
            if damaged is not None:
                damaged.append(str(error))
    return runs


def write_sweep(folder: Path, sweep: dict[str, Any]) -> None:
    """Keep what a sweep is: its id and name, what it goes over, where it is tracked and how it ended."""
    write_whole(folder / SWEEP_FILE, _to_json(sweep))


def read_sweep(folder: Path | None) -> dict[str, Any] | None:
    """What the sweep in a folder is; None if there is none."""
    if folder is None or not (folder / SWEEP_FILE).exists():
        return None
    path = folder / SWEEP_FILE
    try:
        sweep = json.loads(path.read_text())
        missing = {"id", "name", "swept", "tracking", "tracked"} - set(sweep)
    except (ValueError, TypeError) as error:
        raise UserError(
            f"{path} is damaged ({error}): without it, its runs are single ones"
        ) from None
    if missing:
        raise UserError(
            f"{path} lacks {', '.join(sorted(missing))}: without it, its runs are single ones"
        )
    return sweep


def sweep_folder(folder: Path) -> Path | None:
    """The folder of the sweep that a run's folder belongs to."""
    return next(
        (parent for parent in folder.parents if (parent / SWEEP_FILE).exists()), None
    )


def _natural(part: str) -> tuple[int, int, str]:
    return (0, int(part), "") if part.isdecimal() else (1, 0, part)


def fingerprint(
    config: dict[str, Any], data: Sequence[str], plugins: Iterable[str] = ()
) -> str:
    """A hash of everything that can change a seed's numbers: config, data, code (hashes of plugins' too) and versions.

    It is the same for all seeds of a run; with the seed's number it tells one result from all others.
    """
    kept = {key: value for key, value in config.items() if key not in NOT_FINGERPRINTED}
    code = [code_identity(), *plugins]
    computing = {
        name: version for name, version in versions().items() if name in _COMPUTE
    }
    parts = {"config": kept, "data": list(data), "code": code, "versions": computing}
    return hashlib.sha256(
        json.dumps(parts, sort_keys=True, default=str).encode()
    ).hexdigest()


@functools.cache
def code_identity() -> str:
    """A hash of rsbench's own sources: people edit between releases."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(
            path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes()
        )
    return digest.hexdigest()


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what computes, read without importing it."""
    found = {"rsbench": __version__, "python": platform.python_version()}
    for name in _VERSIONED:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


@functools.cache
def git_commit() -> str | None:
    """The commit of rsbench's own checkout, with a + if it has been edited; None when installed."""
    root = Path(__file__).resolve().parent.parent.parent

    def git(*args: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *args], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")) != root:
            return None
        return git("rev-parse", "HEAD") + (
            "+" if git("status", "--porcelain", "--", "rsbench", "conf") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return None


def _columns(rows: Iterable[dict[str, float]]) -> dict[str, np.ndarray]:
    rows = list(rows)
    # The record is what counts, so numbers in memory are those that were written.
    return {
        column: np.array([float(_format(row[column])) for row in rows])
        for column in COLUMNS
    }


def _to_csv(rows: list[dict[str, Any]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_format(row[column]) for column in columns] for row in rows)
    return out.getvalue()


def _format(value: float | str) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _to_json(content: Any) -> str:
    return json.dumps(content, indent=2, default=str) + "\n"
