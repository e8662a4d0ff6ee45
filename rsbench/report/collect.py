"""Finished runs from wherever they are: folders of sweeps and single runs, or an MLflow experiment."""

import contextlib
import dataclasses
import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rsbench.core.measures import MEASURES
from rsbench.core.statistics import Comparison, compare, comparison_key
from rsbench.errors import UserError, first_line
from rsbench.report.findings import Findings, findings
from rsbench.report.labels import group_titles
from rsbench.store.record import Run, find, read

#: What a report cannot do without of a run's record.
_RECORD = ("run.json", "curves.csv")


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
                self.left_out.append(
                    f"{run.folder}: the same as another run of the report, {run.info['label']}"
                )
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
            raise UserError(
                f"{folder} is not a folder: give that of a run or a sweep, such as outputs/sweeps/…"
            )
        damaged: list[str] = []
        runs = find(folder.resolve(), damaged)
        if not runs:
            cause = (
                f": {damaged[0]}"
                if damaged
                else ". A finished run has a curves.csv beside its run.json"
            )
            raise UserError(f"{folder}: no finished run in it{cause}")
        found.left_out += damaged
        found.add(runs)
    return found


def from_mlflow(experiment: str, uri: str, folder: Path) -> Collection:
    """All complete runs of an MLflow experiment, by the records among their artifacts, which go into the folder."""
    from rsbench.tracking.mirror import Tracker

    found = Collection()
    try:
        for name, run_id, download in Tracker.existing(uri, experiment).records():
            place = folder / run_id
            place.mkdir()
            try:
                for file in _RECORD:
                    download(file, place)
                with contextlib.suppress(Exception):  # which older records do not have
                    download("classes.csv", place)
                found.add([read(place)])
            except Exception as error:  # of one run: the others are still there
                found.left_out.append(
                    f"{name} ({run_id}): {first_line(error)}".replace(f"{place}: ", "")
                )
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{uri}: {first_line(error)}") from error
    if not found.runs:
        raise UserError(
            f"{uri}: the experiment '{experiment}' has no complete run of rsbench"
        )
    return found


def not_numbers(run: Run) -> str | None:
    """Where a curve has something that is not a number, if it has; such a run is drawn but not compared."""
    for measure in MEASURES:
        bad = np.flatnonzero(~np.isfinite(run.curves[measure]))
        if len(bad):
            seed, step = (
                int(run.curves["seed"][bad[0]]),
                int(run.curves["step"][bad[0]]),
            )
            value = run.curves[measure][bad[0]]
            return f"{run.folder / 'curves.csv'}: {measure} is {value} at seed {seed}, step {step}: not compared"
    return None


@dataclass
class Group:
    """Runs that can be compared seed by seed, and what that shows; made once for all parts of a report."""

    runs: list[Run]
    title: str = ""

    @functools.cached_property
    def problems(self) -> list[str]:
        """What is wrong with those that are not compared."""
        return [problem for run in self.runs if (problem := not_numbers(run))]

    @functools.cached_property
    def good(self) -> list[Run]:
        """Those that are compared."""
        return (
            [run for run in self.runs if not not_numbers(run)]
            if self.problems
            else self.runs
        )

    @functools.cached_property
    def comparisons(self) -> list[Comparison]:
        """All pairs; an error says why there are none."""
        return compare(self.good)

    @functools.cached_property
    def findings(self) -> Findings:
        """What can be said in words; nothing where runs cannot be compared."""
        try:
            return findings(self.good)
        except UserError:
            return Findings()


def groups(runs: list[Run]) -> list[Group]:
    """Runs by what they must share to be compared seed by seed, in the order of their first ones."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(repr(comparison_key(run)), []).append(run)
    apart = [_tell_apart(group) for group in found.values()]
    titles = group_titles([group[0] for group in apart])
    return [Group(group, title) for group, title in zip(apart, titles, strict=True)]


def _tell_apart(runs: list[Run]) -> list[Run]:
    """Runs of one name, such as before and after a change of code, with a number to it."""
    seen: dict[str, int] = {}
    told = []
    for run in runs:
        label = run.info["label"]
        seen[label] = seen.get(label, 0) + 1
        name = f"{label} ({seen[label]})" if seen[label] > 1 else label
        told.append(dataclasses.replace(run, info={**run.info, "label": name}))
    return told
