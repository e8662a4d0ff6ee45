"""Finished runs from wherever they are: folders of sweeps and single runs, or an MLflow experiment."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rsbench.compare import comparison_key
from rsbench.errors import UserError, first_line
from rsbench.measures import MEASURES
from rsbench.results import Run, find, read

#: What an MLflow run has of the record, and what a report reads of it.
_RECORD = ("run.json", "curves.csv", "classes.csv")


@dataclass
class Collection:
    """Runs, each once, and a line for everything that was left out."""

    runs: list[Run] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, runs: list[Run]) -> None:
        """Take runs over, unless they are there already: the same record, or the same computation twice."""
        known = {_same(run) for run in self.runs}
        for run in runs:
            if _same(run) in known:
                self.left_out.append(f"{run.folder}: the same as another run of the report, {run.info['label']}")
                continue
            known.add(_same(run))
            self.runs.append(run)


def _same(run: Run) -> tuple[str, str, str]:
    return run.info["fingerprint"], repr(run.info["seeds"]), run.info["label"]


def from_folders(folders: list[Path]) -> Collection:
    """All finished runs in these folders and below."""
    found = Collection()
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder: give that of a run or a sweep, such as outputs/sweeps/…")
        damaged: list[str] = []
        runs = find(folder.resolve(), damaged)
        if not runs:
            cause = f": {damaged[0]}" if damaged else ". A finished run has a curves.csv beside its run.json"
            raise UserError(f"{folder}: no finished run in it{cause}")
        found.left_out += damaged
        found.add(runs)
    return found


def from_mlflow(experiment: str, uri: str, folder: Path) -> Collection:
    """All complete runs of an MLflow experiment, by the records among their artifacts, which go into the folder."""
    from rsbench.tracking import Tracker

    found = Collection()
    try:
        for name, run_id, download in Tracker.existing(uri, experiment).records():
            place = folder / run_id
            place.mkdir()
            try:
                for file in _RECORD:
                    download(file, place)
                found.add([read(place)])
            except UserError as error:
                found.left_out.append(str(error).replace(str(place), f"{name} ({run_id})"))
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{uri}: {first_line(error)}") from error
    if not found.runs:
        raise UserError(f"{uri}: the experiment '{experiment}' has no complete run of rsbench")
    return found


def not_numbers(run: Run) -> str | None:
    """Where a curve has something that is not a number, if it has; such a run is drawn but not compared."""
    for measure in MEASURES:
        bad = np.flatnonzero(~np.isfinite(run.curves[measure]))
        if len(bad):
            seed, step = int(run.curves["seed"][bad[0]]), int(run.curves["step"][bad[0]])
            value = run.curves[measure][bad[0]]
            return f"{run.folder / 'curves.csv'}: {measure} is {value} at seed {seed}, step {step}: not compared"
    return None


def groups(runs: list[Run]) -> list[list[Run]]:
    """Runs by what they must share to be compared seed by seed, in the order of their first ones."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(repr(comparison_key(run)), []).append(run)
    return list(found.values())
