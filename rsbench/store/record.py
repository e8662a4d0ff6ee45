"""A run's record on disk: written atomically, and finished by a single rename.

run.json       what was run, as `RunInfo` has it, and digests of the other files
summary.json   mean and standard error at the table's steps
classes.csv    one row per seed and class: its test error at the last step
items.npz      each test sample, wrong or right at every step, and its margins
counterpart/   the record of its counterpart, the same without annotations
shuffled/      the record of its control with shuffled annotations
curves.csv     one row per seed and step; exists only in finished runs, appears last

With several draws of classes, rows of curves.csv and classes.csv begin with the draw.

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
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsbench.core.items import TestItems, judged_step, table_steps
from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic
from rsbench.store.items import ITEMS_FILE, Unit, items_bytes, read_items
from rsbench.store.run_info import RunInfo, read_info

log = logging.getLogger(__name__)

#: Of curves.csv, after `draw` where there are several.
COLUMNS = ("seed", "step", "samples", *MEASURES)
#: Of classes.csv, likewise.
CLASS_COLUMNS = ("seed", "class", "samples", "test_error")

#: Where a run keeps the records of what it is judged by: its counterpart, and itself
#: with shuffled annotations.
BESIDE = ("counterpart", "shuffled")

#: The files of a record; those in the folders beside it have the same names.
RECORD_FILES = ("run.json", "summary.json", "classes.csv", ITEMS_FILE, "curves.csv")

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
    tested : Mapping of TestItems, optional
        By draw and seed, what became of each test sample; read from the folder where
        it is not given.
    counterpart : Run, optional
        The same without annotations, or what stands in for that.
    shuffled : Run, optional
        The same with annotations shuffled between samples.
    """

    folder: Path
    info: RunInfo
    curves: dict[str, np.ndarray]
    classes: Sequence[dict[str, Any]] | None = None
    tested: Mapping[Unit, TestItems] | None = None
    counterpart: "Run | None" = None
    shuffled: "Run | None" = None

    @functools.cached_property
    def steps(self) -> list[int]:
        """The steps of the curves, in ascending order."""
        return np.unique(self.curves["step"]).astype(int).tolist()

    @property
    def n_seeds(self) -> int:
        """The number of seeds in each draw."""
        return len(self.info.seeds)

    @property
    def n_draws(self) -> int:
        """The number of draws of classes."""
        return len(self.info.draws)

    @functools.cached_property
    def _order(self) -> np.ndarray:
        """The rows in the order of steps, then draws, then seeds."""
        keys = [self.curves[name] for name in ("seed", "draw", "step")]
        return np.lexsort(keys)

    def values(self, measure: str) -> np.ndarray:
        """Return the measure for each step, and draw and seed, (steps, draws·seeds)."""
        return self.curves[measure][self._order].reshape(len(self.steps), -1)

    def by_draw(self, measure: str) -> np.ndarray:
        """Return the measure for each step, draw and seed, (steps, draws, seeds)."""
        shape = (len(self.steps), self.n_draws, self.n_seeds)
        return self.values(measure).reshape(shape)

    def mean(self, measure: str) -> np.ndarray:
        """Return the mean over draws and seeds at each step."""
        return self.values(measure).mean(axis=1)

    def standard_error(self, measure: str) -> np.ndarray:
        """Return the standard error of that mean; NaN where there is nothing to tell.

        With several draws it is that of the draws' means, else that of the seeds.
        """
        values = self.values(measure)
        if self.n_draws > 1:
            values = self.by_draw(measure).mean(axis=2)
        if values.shape[1] < 2:
            return np.full(len(values), np.nan)
        return values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])

    @property
    def judged_step(self) -> int:
        """The step at which it is judged: what the run was told, else its last."""
        return judged_step(self.steps, self.info.judged_step)

    def table_steps(self) -> list[int]:
        """Return the steps that tables report, the judged one among them."""
        return table_steps(self.steps, self.info.table_steps, self.judged_step)

    def items(self) -> Mapping[Unit, TestItems]:
        """Return what became of each test sample, by draw and seed.

        Empty where the record has none, as in those of earlier releases.
        """
        if self.tested is not None:
            return self.tested
        path = self.folder / ITEMS_FILE
        if not path.exists():
            return {}
        return read_items(path)

    def summary(self) -> dict[str, Any]:
        """Return mean and standard error of every measure at the table's steps."""
        found: dict[str, Any] = {}
        for step in self.table_steps():
            i = self.steps.index(step)
            found[str(step)] = {}
            for measure in MEASURES:
                # JSON has no NaN: of a single seed there is null.
                error = None
                deviation = float(self.standard_error(measure)[i])
                if not math.isnan(deviation):
                    error = deviation
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
    tested: Mapping[Unit, TestItems] | None = None,
    counterpart: Run | None = None,
    shuffled: Run | None = None,
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
        The rows of curves.csv; those without a draw are of the first one.
    per_class : sequence of dict, optional
        The rows of classes.csv; else they are read from the folder when needed.
    tested : mapping of TestItems, optional
        By draw and seed, what became of each test sample; likewise.
    counterpart, shuffled : Run, optional
        What it is judged by, as in `Run`.

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
    draws = [row.get("draw", info.draws[0]) for row in rows]
    curves["draw"] = np.array(draws, dtype=float)
    return Run(folder, info, curves, per_class, tested, counterpart, shuffled)


def _check_steps(rows: Sequence[dict[str, Any]]) -> None:
    """Raise an error unless all seeds have the same steps, each once."""
    by_seed: dict[Any, list[Any]] = {}
    for row in rows:
        by_seed.setdefault((row.get("draw"), row["seed"]), []).append(row["step"])
    first = next(iter(by_seed.values()), [])
    repeats = len(set(first)) < len(first)
    if repeats or any(steps != first for steps in by_seed.values()):
        raise UserError(
            "the protocol's steps differ between seeds, or repeat: "
            "curves need the same steps for all"
        )


def write_record(folder: Path, run: Run) -> Run:
    """Write the record of a finished run; the curves, its mark, appear last.

    Parameters
    ----------
    folder : Path
        Where to; it is to be there.
    run : Run
        The run, as `make_run` made it of all that was computed.

    Returns
    -------
    Run
        The run in that folder, with the digests of its files.
    """
    # What a crash leaves must not be the curves of one run beside the info, or the
    # counterpart, of another.
    if (folder / "curves.csv").exists():
        set_aside(folder)
    beside: dict[str, Any] = {}
    for name in BESIDE:
        other: Run | None = getattr(run, name)
        if other is not None:
            (folder / name).mkdir(exist_ok=True)
            beside[name] = write_record(folder / name, other)
    # In the order in which they are written: what is there last marks the run finished.
    files: dict[str, bytes] = {
        "summary.json": _to_json(run.summary()).encode(),
        "classes.csv": _to_csv(run.classes or (), _columns(run, CLASS_COLUMNS)),
        ITEMS_FILE: items_bytes(run.tested or {}),
        "curves.csv": _to_csv(_rows(run), _columns(run, COLUMNS)),
    }
    digests = {}
    for name, content in files.items():
        digests[name] = hashlib.sha256(content).hexdigest()
    for name, other in beside.items():
        digests[f"{name}/curves.csv"] = other.info.digests["curves.csv"]
    # run.json has no digest of its own: it cannot hold one of itself.
    info = dataclasses.replace(run.info, digests=digests)
    write_atomic(folder / "run.json", _to_json(info.to_json()))
    for name, content in files.items():
        write_atomic(folder / name, content)
    # Of the run that this one takes the place of.
    (folder / _SUPERSEDED).unlink(missing_ok=True)
    for name in BESIDE:
        if name not in beside and (folder / name).exists():
            shutil.rmtree(folder / name)
    return dataclasses.replace(run, folder=folder, info=info, **beside)


def _columns(run: Run, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a file, with the draw where there are several."""
    if run.n_draws > 1:
        return ("draw", *columns)
    return columns


def _rows(run: Run) -> list[dict[str, Any]]:
    """Return the rows of curves.csv, in the order they were made."""
    rows = []
    for i in range(len(run.curves["step"])):
        row: dict[str, Any] = {}
        for name, values in run.curves.items():
            row[name] = float(values[i])
        for name in ("draw", "seed", "step", "samples"):
            row[name] = int(row[name])
        rows.append(row)
    return rows


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
        if not info.draws:
            raise UserError(f"{where}: draws is empty: damaged, or of another version")
        beside: dict[str, Any] = {}
        for name in BESIDE:
            if getattr(info, name) is not None:
                beside[name] = read_record(folder / name)
        run = make_run(folder, info, numbers, **beside)
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        cause = f"{type(error).__name__}: {error}"
        raise UserError(f"{folder}: not a readable run record ({cause})") from None
    _check_agreement(run, len(rows))
    return run


def _check_agreement(run: Run, rows: int) -> None:
    """Raise an error unless curves and info speak of the same run."""
    if not rows or rows != len(run.steps) * run.n_seeds * run.n_draws:
        raise UserError(
            f"{run.folder / 'curves.csv'}: expected one row per draw, seed and step"
        )
    judged = run.info.judged_step
    if judged is not None and judged not in run.steps:
        raise UserError(
            f"{run.folder / 'run.json'}: judged_step is {judged}, not as expected: "
            "damaged, or of another version"
        )
    draws = np.unique(run.curves["draw"]).astype(int).tolist()
    seeds = np.unique(run.curves["seed"]).astype(int).tolist()
    if seeds != sorted(run.info.seeds) or draws != sorted(run.info.draws):
        raise UserError(
            f"{run.folder / 'run.json'}: seeds or draws not as expected: "
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
    twice. What a run is judged by belongs to it, and is read with it.
    """
    passed_over = (ARTIFACTS_FOLDER, *BESIDE)
    for place, folders, files in os.walk(folder):
        kept = []
        for name in folders:
            if name not in passed_over and not name.startswith("."):
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


def _to_csv(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> bytes:
    out = io.StringIO()
    # The same bytes on every platform, since a record has their digest.
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_format(row[column]) for column in columns])
    return out.getvalue().encode()


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
