"""The MLflow mirror of the records on disk; losing it loses nothing.

A sweep is one parent run, each run in it a child.
"""

import contextlib
import logging
from pathlib import Path
from typing import Any

from rsbench.errors import UserError, first_line
from rsbench.files.places import CONF
from rsbench.store.record import Run, find_records
from rsbench.store.sweep import Sweep, read_sweep, sweep_folder
from rsbench.tracking.store import Tracker

log = logging.getLogger(__name__)

#: How addresses of SQLite files begin: a fourth slash begins an absolute path.
_RELATIVE = "sqlite:///"
_ABSOLUTE = "sqlite:////"


def settings(tracking: dict[str, Any], folder: Path) -> dict[str, str] | None:
    """Return where runs are tracked; None if they are not.

    Parameters
    ----------
    tracking : dict
        The config's settings: name, and for MLflow `uri` and `experiment`.
    folder : Path
        From which a relative database is seen, whatever the working folder is later.

    Raises
    ------
    UserError
        If MLflow's address or experiment is not given.
    """
    if tracking["name"] != "mlflow":
        return None
    for key in ("uri", "experiment"):
        value = tracking.get(key)
        if not isinstance(value, str) or not value:
            raise UserError(
                f"tracking.{key}={value}, expected text; or choose tracking=none"
            )
    uri = tracking["uri"]
    if uri.startswith(_RELATIVE) and not uri.startswith(_ABSOLUTE):
        uri = f"{_RELATIVE}{folder / uri.removeprefix(_RELATIVE)}"
    return {"uri": uri, "experiment": tracking["experiment"]}


def default_settings() -> dict[str, str]:
    """Return where runs go that were not to be tracked at first."""
    from omegaconf import OmegaConf

    file = OmegaConf.load(CONF / "tracking" / "mlflow.yaml")
    default: Any = OmegaConf.to_container(file)
    found = settings(default, Path.cwd())
    assert found is not None
    return found


def open_sweep(sweep: Sweep, folder: Path) -> bool:
    """Start the sweep's parent run before any job can want it; tell whether it is."""
    if sweep.tracking is None:
        return False
    try:
        Tracker(**sweep.tracking).open_sweep(sweep, folder)
    # Here and below: whatever is wrong with a store, it must not cost any results.
    except Exception as error:
        log.warning(_later(error, folder))
        return False
    return True


def send_child(run: Run, sweep: Sweep) -> None:
    """Send a run of a sweep that has just finished."""
    if sweep.tracking is None:
        return
    try:
        Tracker(**sweep.tracking).send_run(run, sweep)
    except Exception as error:
        log.warning(_later(error, run.folder))


def send_single(run: Run, tracking: dict[str, str]) -> tuple[Tracker, str] | None:
    """Send a run that is no sweep's, with its figure.

    Returns
    -------
    tuple or None
        The store and the run's page; None if the store cannot be reached.
    """
    try:
        tracker = Tracker(**tracking)
        tracker.send_run(run, None)
        tracker.finish(run.info.id, run.folder, "FINISHED", [run])
        return tracker, tracker.page(run.info.id)
    except Exception as error:
        log.warning(_later(error, run.folder))
        return None


def close_sweep(
    folder: Path, sweep: Sweep, runs: list[Run]
) -> tuple[Tracker, str] | None:
    """End a sweep's parent run with its report.

    Returns
    -------
    tuple or None
        The store and the sweep's page; None if the store cannot be reached.
    """
    if not sweep.tracked or sweep.tracking is None:
        return None
    try:
        tracker = Tracker(**sweep.tracking)
        tracker.finish(sweep.id, folder, sweep.status, runs)
        return tracker, tracker.page(sweep.id)
    except Exception as error:
        log.warning(_later(error, folder))
        return None


def discard_sweep(sweep: Sweep) -> None:
    """Take back the parent run of a sweep in which nothing ran.

    If that fails, an empty run is left: nothing that anybody has to know of.
    """
    if sweep.tracking is not None:
        with contextlib.suppress(Exception):
            Tracker(**sweep.tracking).discard(sweep.id)


def track(folder: Path, uri: str | None) -> tuple[int, str]:
    """Send all finished runs in a folder that the store does not have.

    Parameters
    ----------
    folder : Path
        With runs in it or below.
    uri : str or None
        The store; by default that of each run's own config.

    Returns
    -------
    tuple
        The number of finished runs, and the URI of the store.

    Raises
    ------
    UserError
        If there is no run, if some could not be sent, or if a store fails.
    """
    damaged: list[str] = []
    runs = find_records(folder.resolve(), damaged)
    if not runs and not damaged:
        raise UserError(f"{folder}: no finished run in it")
    # By the folder of the sweep, or of the single run.
    places: dict[Path, list[Run]] = {}
    for run in runs:
        place = sweep_folder(run.folder) or run.folder
        places.setdefault(place, []).append(run)
    trackers: dict[tuple[str, str], Tracker] = {}
    for place, members in places.items():
        where = members[0].info.tracking or default_settings()
        target = (uri or where["uri"], where["experiment"])
        try:
            if target not in trackers:
                trackers[target] = Tracker(*target)
            _send_place(trackers[target], place, members)
        except UserError as error:
            damaged.append(str(error))
        except Exception as error:
            raise UserError(
                f"{target[0]}: {first_line(error)}. What was sent stays; run this again"
            ) from error
    if damaged:
        raise UserError(
            "\n".join(["these could not be sent, all others were:", *damaged])
        )
    return len(runs), ", ".join(tracker.uri for tracker in trackers.values())


def _send_place(tracker: Tracker, place: Path, runs: list[Run]) -> None:
    """Send the runs of a sweep, or a single run."""
    sweep = read_sweep(place)
    for run in runs:
        tracker.send_run(run, sweep)
    if sweep is None:
        tracker.finish(runs[0].info.id, place, "FINISHED", runs)
        return
    status = sweep.status
    # One that never came to say how it ended was killed.
    if status == "RUNNING":
        status = "KILLED"
    tracker.finish(sweep.id, place, status, runs)


def _later(error: Exception, folder: Path) -> str:
    """Return a warning that says how to send results another time."""
    return (
        f"MLflow could not be reached or failed ({first_line(error)}). "
        f"Results are safe in {folder}; "
        f"send them later: python -m rsbench track {folder}"
    )
