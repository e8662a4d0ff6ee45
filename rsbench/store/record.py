"""A run's record on disk: written atomically, and finished by a single rename.

run.json       what was run, as `RunInfo` has it, and digests of the other files
summary.json   mean and standard error at the table's steps
classes.csv    one row per seed and class: its test error at the last step
curves.csv     one row per seed and step; exists only in finished runs, appears last

The seeds of a run that is not finished are kept one by one (see seeds.py).
"""

import contextlib
import csv
import dataclasses
import functools
import hashlib
import io
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic
from rsbench.store.run_info import RunInfo, read_info

log = logging.getLogger(__name__)

#: Of curves.csv.
COLUMNS = ("seed", "step", "samples", *MEASURES)
#: Of classes.csv.
CLASS_COLUMNS = ("seed", "class", "samples", "test_error")

#: The paper's tables have these.
TABLE_STEPS = (5, 10, 20)

#: Where MLflow keeps its copies of records.
ARTIFACTS_FOLDER = "mlflow-artifacts"

#: The curves of a finished run while its record is replaced.
_SUPERSEDED = "superseded.csv"


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run; each is itself, whatever another one holds.

    Parameters
    ----------
    folder : Path
        Where its record is.
    info : RunInfo
        What was run.
    curves : dict of arrays
        The columns of curves.csv.
    classes : sequence of dict, optional
        The rows of classes.csv; read from the folder where they are not given.
    """

    folder: Path
    info: RunInfo
    curves: dict[str, np.ndarray]
    classes: Sequence[dict[str, Any]] | None = None

    @functools.cached_property
    def steps(self) -> list[int]:
        """The steps of the curves, in ascending order."""
        return np.unique(self.curves["step"]).astype(int).tolist()

    @property
    def n_seeds(self) -> int:
        """The number of seeds."""
        return len(self.info.seeds)

    @functools.cached_property
    def _order(self) -> np.ndarray:
        """The rows in the order of steps, and of seeds within them."""
        return np.lexsort([self.curves["seed"], self.curves["step"]])

    def values(self, measure: str) -> np.ndarray:
        """Return the measure for each step and seed, (steps, seeds)."""
        return self.curves[measure][self._order].reshape(len(self.steps), -1)

    def mean(self, measure: str) -> np.ndarray:
        """Return the mean over seeds at each step."""
        return self.values(measure).mean(axis=1)

    def standard_error(self, measure: str) -> np.ndarray:
        """Return the standard error of that mean; NaN with a single seed."""
        values = self.values(measure)
        if values.shape[1] < 2:
            return np.full(len(values), np.nan)
        return values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])

    def table_steps(self) -> list[int]:
        """Return the paper's 5, 10 and 20; else a quarter, half and all of the run."""
        # The paper's are samples per class. 5 samples of a stream are another thing.
        if self.info.unit != "samples":
            found = [step for step in TABLE_STEPS if step in self.steps]
            if found:
                return found
        n = len(self.steps)
        # A set: in a run of one or two steps these are the same.
        chosen = set()
        for part in (0.25, 0.5, 1):
            i = max(0, round(n * part) - 1)
            chosen.add(self.steps[i])
        return sorted(chosen)

    def summary(self) -> dict[str, Any]:
        """Return mean and standard error of every measure at the table's steps."""
        found: dict[str, Any] = {}
        for step in self.table_steps():
            i = self.steps.index(step)
            found[str(step)] = {}
            for measure in MEASURES:
                # JSON has no NaN: of a single seed there is null.
                error = None
                if self.n_seeds > 1:
                    error = float(self.standard_error(measure)[i])
                mean = float(self.mean(measure)[i])
                found[str(step)][measure] = {"mean": mean, "standard_error": error}
        return found

    def answers(self, fingerprint: str, seeds: Iterable[int]) -> bool:
        """Tell whether computing these seeds would give what is there already."""
        same_seeds = self.info.seeds == tuple(seeds)
        same_run = self.info.fingerprint == fingerprint
        return same_seeds and same_run

    def per_class(self) -> dict[str, tuple[int, float]]:
        """Return each class's tested samples over all seeds, and their last error.

        Empty where the record has none, as in those of the first releases.
        """
        if self.classes is not None:
            return _pool_classes(self.classes)
        path = self.folder / "classes.csv"
        if not path.exists():
            return {}
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return _pool_classes(csv.DictReader(file))
        # A damaged file can be wrong in any of these ways; a short row, a TypeError.
        except (OSError, ValueError, KeyError, TypeError) as error:
            cause = f"{type(error).__name__}: {error}"
            raise UserError(f"{path}: not readable ({cause})") from None


def _pool_classes(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[int, float]]:
    """Return each class's samples and their share of errors, over all seeds."""
    samples: dict[str, int] = {}
    wrong: dict[str, float] = {}
    for row in rows:
        name = row["class"]
        n = int(row["samples"])
        if n < 1:
            raise ValueError("a class without samples")
        samples[name] = samples.get(name, 0) + n
        wrong[name] = wrong.get(name, 0.0) + n * float(row["test_error"])
    pooled = {}
    for name, n in samples.items():
        pooled[name] = (n, wrong[name] / n)
    return pooled


def make_run(
    folder: Path,
    info: RunInfo,
    rows: Sequence[dict[str, Any]],
    per_class: Sequence[dict[str, Any]] | None = None,
) -> Run:
    """Return a finished run from the rows of its curves, on disk or not.

    Numbers are rounded as they are written, so that a run just computed and the same
    run read from disk have the same numbers.

    Parameters
    ----------
    folder : Path
        Where its record is, or is to be.
    info : RunInfo
        What was run.
    rows : sequence of dict
        The rows of curves.csv.
    per_class : sequence of dict, optional
        The rows of classes.csv; else they are read from the folder when needed.

    Raises
    ------
    UserError
        If seeds differ in their steps.
    """
    _check_steps(rows)
    curves = {}
    for column in COLUMNS:
        written = [_format(row[column]) for row in rows]
        curves[column] = np.array(written, dtype=float)
    return Run(folder, info, curves, per_class)


def _check_steps(rows: Sequence[dict[str, Any]]) -> None:
    """Raise an error unless all seeds have the same steps, each once."""
    by_seed: dict[Any, list[Any]] = {}
    for row in rows:
        by_seed.setdefault(row["seed"], []).append(row["step"])
    first = next(iter(by_seed.values()), [])
    repeats = len(set(first)) < len(first)
    if repeats or any(steps != first for steps in by_seed.values()):
        raise UserError(
            "the protocol's steps differ between seeds, or repeat: "
            "curves need the same steps for all"
        )


def write_record(
    folder: Path,
    info: RunInfo,
    rows: Sequence[dict[str, Any]],
    per_class: Sequence[dict[str, Any]],
) -> Run:
    """Write the record of a finished run; the curves, its mark, appear last.

    Parameters are those of `make_run`; the folder is to be there.

    Returns
    -------
    Run
        The run, with the digests of its files.
    """
    run = make_run(folder, info, rows)
    # In the order in which they are written: what is there last marks the run finished.
    files = {
        "summary.json": _to_json(run.summary()),
        "classes.csv": _to_csv(per_class, CLASS_COLUMNS),
        "curves.csv": _to_csv(rows, COLUMNS),
    }
    digests = {}
    for name, content in files.items():
        digests[name] = hashlib.sha256(content.encode()).hexdigest()
    # run.json has no digest of its own: it cannot hold one of itself.
    info = dataclasses.replace(info, digests=digests)
    # What a crash leaves must not be the curves of one run beside the info of another.
    if (folder / "curves.csv").exists():
        set_aside(folder)
    write_atomic(folder / "run.json", _to_json(info.to_json()))
    for name, content in files.items():
        write_atomic(folder / name, content)
    (folder / _SUPERSEDED).unlink(missing_ok=True)
    return dataclasses.replace(run, info=info)


def read_record(folder: Path) -> Run:
    """Return the finished run in a folder.

    Raises
    ------
    UserError
        If there is none, or it is damaged; the message says what is wrong with it.
    """
    where = folder / "run.json"
    try:
        content = json.loads(where.read_text(encoding="utf-8"))
        with open(folder / "curves.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        numbers = [_numbers(row) for row in rows]
        info = read_info(content, str(where))
        run = make_run(folder, info, numbers)
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        cause = f"{type(error).__name__}: {error}"
        raise UserError(f"{folder}: not a readable run record ({cause})") from None
    _check_agreement(run, len(rows))
    return run


def _check_agreement(run: Run, rows: int) -> None:
    """Raise an error unless curves and info speak of the same run."""
    if not rows or rows != len(run.steps) * run.n_seeds:
        raise UserError(
            f"{run.folder / 'curves.csv'}: expected one row per seed and step"
        )
    seeds = np.unique(run.curves["seed"]).astype(int).tolist()
    if seeds != sorted(run.info.seeds):
        raise UserError(
            f"{run.folder / 'run.json'}: seeds not as expected: "
            "damaged, or of another version"
        )
    sizes = run.info.samples
    # Tests of significance take n_test / n_train from here.
    if sizes is not None and min(sizes.pool, sizes.test) < 1:
        raise UserError(
            f"{run.folder / 'run.json'}: samples not as expected: "
            "damaged, or of another version"
        )


def finished(folder: Path) -> Run | None:
    """Return the finished run in a folder itself; None if there is none, or damaged."""
    if not (folder / "curves.csv").exists():
        return None
    with contextlib.suppress(UserError):
        return read_record(folder)
    return None


def set_aside(folder: Path) -> None:
    """Make a finished run unfinished that is about to be replaced.

    Nothing is lost: its curves stay in the folder, under another name.
    """
    os.replace(folder / "curves.csv", folder / _SUPERSEDED)


def find_records(folder: Path, damaged: list[str] | None = None) -> list[Run]:
    """Return all finished runs in a folder and below, in the order of their numbers.

    Parameters
    ----------
    folder : Path
        Where to look.
    damaged : list of str, optional
        Collects a line for each record that could not be read.
    """
    folders = []
    for place, files in result_folders(folder):
        if {"curves.csv", "run.json"} <= files:
            folders.append(place)
    runs = []
    for path in sorted(folders, key=_natural_order):
        try:
            runs.append(read_record(path))
        except UserError as error:
            log.warning("left out: %s", error)
            if damaged is not None:
                damaged.append(str(error))
    return runs


def result_folders(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Yield a folder and those below that may hold results, with their files' names.

    Hidden folders are left out, and MLflow's copies of records: a run would be there
    twice.
    """
    for place, folders, files in os.walk(folder):
        kept = []
        for name in folders:
            if name != ARTIFACTS_FOLDER and not name.startswith("."):
                kept.append(name)
        folders[:] = sorted(kept)  # in place, which is how `os.walk` is told
        yield Path(place), set(files)


def _natural_order(path: Path) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbered folders by their number, before all others.

    As text, 10 would come before 2.
    """
    order = []
    for part in path.parts:
        if part.isdecimal():
            order.append((0, int(part), ""))
        else:
            order.append((1, 0, part))
    return order


def _to_csv(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    out = io.StringIO()
    # The same bytes on every platform, since a record has their digest.
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_format(row[column]) for column in columns])
    return out.getvalue()


def _format(value: float | str) -> str:
    """Return a value as a record has it: numbers with ten significant digits."""
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def _numbers(row: dict[str, str]) -> dict[str, float]:
    """Return a row of curves.csv as numbers, whole ones as integers."""
    found: dict[str, float] = {}
    for key, text in row.items():
        if text.lstrip("-").isdecimal():
            found[key] = int(text)
        else:
            found[key] = float(text)
    return found


def _to_json(content: Any) -> str:
    return json.dumps(content, indent=2, default=str) + "\n"
