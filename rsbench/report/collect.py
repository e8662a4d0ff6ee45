"""Finished runs from wherever they are, in groups that can be compared seed by seed."""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rsbench.core.measures import MEASURES
from rsbench.errors import UserError
from rsbench.report.claims import Claims, claims
from rsbench.report.comparisons import Comparison, check_comparable, comparable
from rsbench.report.findings import Findings, findings
from rsbench.report.labels import data_label, repeats_text
from rsbench.store.record import Run, find_records


@dataclass
class Collection:
    """Runs, each once, and a line for everything that was left out."""

    runs: list[Run] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, runs: Sequence[Run]) -> None:
        """Take runs over, unless the same computation is there already."""
        known = {_identity(run) for run in self.runs}
        for run in runs:
            if _identity(run) in known:
                self.left_out.append(
                    f"{run.folder}: the same as another run of the report, "
                    f"{run.info.label}"
                )
                continue
            known.add(_identity(run))
            self.runs.append(run)


def _identity(run: Run) -> tuple[str, tuple[int, ...], str]:
    """Return what tells a computation from others, under the name it was given.

    Two methods may compute the same, and both are wanted in the table.
    """
    return run.info.fingerprint, run.info.seeds, run.info.label


def from_folders(folders: Sequence[Path]) -> Collection:
    """Return all finished runs in these folders and below.

    Raises
    ------
    UserError
        If one of them is no folder, or has no finished run in it.
    """
    found = Collection()
    for folder in folders:
        if not folder.is_dir():
            raise UserError(
                f"{folder} is not a folder: give that of a run or a sweep, such as "
                "outputs/sweeps/…"
            )
        damaged: list[str] = []
        # Resolved, so that one run by two paths is known to be one.
        runs = find_records(folder.resolve(), damaged)
        if not runs:
            cause = ". A finished run has a curves.csv beside its run.json"
            if damaged:
                cause = f": {damaged[0]}"
            raise UserError(f"{folder}: no finished run in it{cause}")
        found.left_out += damaged
        found.add(runs)
    return found


@dataclass
class Group:
    """Runs that can be compared seed by seed; each part of a report reads the same.

    What they show is computed once.
    """

    runs: list[Run]
    title: str = ""

    @functools.cached_property
    def problems(self) -> list[str]:
        """What is wrong with those that are not compared."""
        found = []
        for run in self.runs:
            problem = not_numbers(run)
            if problem is not None:
                found.append(problem)
        return found

    @functools.cached_property
    def good(self) -> list[Run]:
        """Those that are compared."""
        return [run for run in self.runs if not_numbers(run) is None]

    @functools.cached_property
    def claims(self) -> Claims | None:
        """What they show; None where there is nothing to compare."""
        try:
            return claims(self.good)
        except UserError:
            return None

    @property
    def not_compared(self) -> str | None:
        """Why there is nothing to compare, if there is not."""
        try:
            check_comparable(self.good)
        except UserError as error:
            return str(error)
        return None

    @property
    def comparisons(self) -> list[Comparison]:
        """All pairs of all families; none where there is nothing to compare."""
        if self.claims is None:
            return []
        return self.claims.comparisons

    @functools.cached_property
    def findings(self) -> Findings:
        """What can be said in words; nothing where there is nothing to compare."""
        if self.claims is None:
            return Findings()
        return findings(self.good, self.claims)


def groups(runs: Sequence[Run]) -> list[Group]:
    """Return runs by what they must share to be compared seed by seed.

    Groups, and runs in them, stand in the order of their first ones.
    """
    found = comparable(runs)
    titles = _titles(found)
    made = []
    for members, title in zip(found, titles, strict=True):
        made.append(Group(_tell_apart(members), title))
    return made


def not_numbers(run: Run) -> str | None:
    """Return where a curve has something that is not a number, if it has.

    Such a run is drawn but not compared: one NaN would be all that its means, and the
    corrections it is part of, come to.
    """
    for measure in MEASURES:
        bad = np.flatnonzero(~np.isfinite(run.curves[measure]))
        if len(bad):
            first = bad[0]
            seed = int(run.curves["seed"][first])
            step = int(run.curves["step"][first])
            value = run.curves[measure][first]
            return (
                f"{run.folder / 'curves.csv'}: {measure} is {value} at seed {seed}, "
                f"step {step}: not compared"
            )
    return None


def _tell_apart(runs: Sequence[Run]) -> list[Run]:
    """Number runs of one label, such as before and after a change of code."""
    # Tables and legends go by labels, so no two runs of a group may share one.
    seen: dict[str, int] = {}
    numbered = []
    for run in runs:
        label = run.info.label
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            info = dataclasses.replace(run.info, label=f"{label} ({seen[label]})")
            run = dataclasses.replace(run, info=info)
        numbered.append(run)
    return numbered


def _titles(found: Sequence[Sequence[Run]]) -> list[str]:
    """Return what each group has in common, in more words where titles are the same."""
    # All runs of a group share what its title says, so the first one stands for them.
    firsts = [members[0] for members in found]
    titles = [_title(run) for run in firsts]
    # Such as the domains that a sweep goes over.
    titles = _told_apart(titles, [_swept(members) for members in found])
    # Such as two draws of classes from one data set.
    return _told_apart(titles, [_details(run) for run in firsts])


def _told_apart(titles: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return titles, those that are the same with more words, if there are any."""
    distinct = []
    for title, words in zip(titles, more, strict=True):
        if titles.count(title) > 1 and words:
            title = f"{title}, {words}"
        distinct.append(title)
    return distinct


def _swept(members: Sequence[Run]) -> str:
    """Return the settings that a sweep goes over and all runs of a group share."""
    shared = []
    for key, value in members[0].info.swept.items():
        if all(run.info.swept.get(key) == value for run in members):
            shared.append(f"{key}={value}")
    return ", ".join(shared)


def _title(run: Run) -> str:
    reach = f"{run.info.classes} classes, up to {run.steps[-1]} {run.info.unit}"
    return f"{data_label([run])}, {reach}, {repeats_text(run)}"


def _details(run: Run) -> str:
    """Return what else runs must share to be compared."""
    sizes = "sizes unknown"  # as records of older versions have them
    if run.info.samples is not None:
        sizes = f"pool {run.info.samples.pool} test {run.info.samples.test}"
    protocol = []
    for name, value in (run.info.config.get("protocol") or {}).items():
        if value is not None:
            protocol.append(f"{name}={value}")
    return (
        f"seeds from {run.info.seeds[0]}, {sizes}, {' '.join(protocol)}, "
        f"data {run.info.data.identity[:8]}"
    )
