"""What a sweep is, kept in its folder: to resume it, tell of it and track it."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.errors import UserError
from rsbench.files.atomic import write_atomic

#: By this file a folder is known as a sweep's.
SWEEP_FILE = "sweep.json"


@dataclass(frozen=True)
class Sweep:
    """A sweep: what it goes over, and how it ended.

    Parameters
    ----------
    id : str
        Unique; MLflow knows its parent run by it.
    name : str
        How people call it.
    swept : tuple of str
        Keys of the settings that it goes over.
    command : tuple of str
        The words of the command that started it.
    jobs : tuple of tuples of str, optional
        Settings of each job, in order; None where a sweeper plans as it goes.
    tracking : dict, optional
        Where its runs are tracked: `uri` and `experiment`.
    tracked : bool
        Whether the store had its parent run when it started.
    status : str
        `FINISHED`, `FAILED`, `KILLED`, or `RUNNING` while it lasts.
    """

    id: str
    name: str
    swept: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    jobs: tuple[tuple[str, ...], ...] | None = None
    tracking: dict[str, str] | None = None
    tracked: bool = False
    status: str = "RUNNING"


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Keep what a sweep is in its folder."""
    content = json.dumps(dataclasses.asdict(sweep), indent=2)
    write_atomic(folder / SWEEP_FILE, content + "\n")


def read_sweep(folder: Path | None) -> Sweep | None:
    """Return what the sweep in a folder is; None if there is none.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    if folder is None or not (folder / SWEEP_FILE).exists():
        return None
    path = folder / SWEEP_FILE
    # For somebody who would rather delete the file than mend it.
    consequence = "without it, its runs are single ones"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _from_json(content)
    except KeyError as error:
        raise UserError(f"{path} lacks {error}: {consequence}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}): {consequence}") from None


def _from_json(content: dict[str, Any]) -> Sweep:
    jobs = content.get("jobs")
    if jobs is not None:
        jobs = tuple(tuple(words) for words in jobs)
    return Sweep(
        id=content["id"],
        name=content["name"],
        swept=tuple(content["swept"]),
        command=tuple(content.get("command") or ()),
        jobs=jobs,
        tracking=content["tracking"],
        tracked=bool(content["tracked"]),
        # Records of the first releases had none until the end.
        status=content.get("status", "KILLED"),
    )


def sweep_folder(folder: Path) -> Path | None:
    """Return the folder of the sweep that a run's folder belongs to, if to any."""
    for parent in folder.parents:
        if (parent / SWEEP_FILE).exists():
            return parent
    return None
