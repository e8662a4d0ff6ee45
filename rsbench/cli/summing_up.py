"""The end of a command: the table and figure of what finished, and what did not."""

import dataclasses
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rsbench.cli.command import Command
from rsbench.cli.outputs import files_of
from rsbench.cli.status import ERROR_FILE, jobs_of
from rsbench.cli.terminal import shown_path
from rsbench.errors import UserError
from rsbench.store.record import Run, find_records, read_record
from rsbench.store.sweep import read_sweep, write_sweep


@dataclass(frozen=True)
class Failure:
    """What a job left of its failure: a message, and a traceback if unexpected."""

    file: Path
    message: str
    traceback: str


def sum_up(command: Command, folder: Path, new: bool, status: str) -> bool:
    """Show what finished, then what failed.

    Parameters
    ----------
    command : Command
        What was run.
    folder : Path
        Its output folder.
    new : bool
        Whether the folder was made for it.
    status : str
        How it ended: FINISHED, FAILED or KILLED.

    Returns
    -------
    bool
        Whether all of that could be done.
    """
    finished = files_of(command, folder, "curves.csv")
    if command.is_sweep:
        runs = find_records(folder)
    else:
        runs = [read_record(path.parent) for path in finished]
    failures = _failures(command, folder)
    # A record that is there and cannot be read was left out with a warning.
    good = len(runs) == len(finished)
    interrupted = any(job.interrupted for job in jobs_of(folder))
    unexpected = any(failure.traceback for failure in failures)
    # Where all jobs failed for a mistake of the user's, nothing is worth keeping.
    if finished or unexpected or interrupted or status == "KILLED":
        good &= _try(_close_sweep, folder, status)
        good &= _try(_show_runs, runs, folder)
        good &= _try(_end_tracking, command, runs, folder)
    else:
        _clear(folder, new)
    _tell_failures(failures)
    if folder.exists():
        _tell_what_is_missing(folder, len(failures))
    return good


def _failures(command: Command, folder: Path) -> list[Failure]:
    found = []
    for file in files_of(command, folder, ERROR_FILE):
        # As `job` writes it: a message, a blank line, the traceback.
        message, _, trace = file.read_text().partition("\n\n")
        found.append(Failure(file, message, trace))
    return found


def _tell_failures(failures: list[Failure]) -> None:
    """Say what went wrong, each kind once, with the file of its first traceback."""
    told: set[str] = set()
    for failure in failures:
        if failure.message in told:
            continue
        told.add(failure.message)
        print(f"error: {failure.message.strip()}", file=sys.stderr)
        if failure.traceback:
            print(f"traceback: {shown_path(failure.file)}", file=sys.stderr)


def _tell_what_is_missing(folder: Path, failed: int) -> None:
    """Say how many runs failed, and how many are still to be done."""
    jobs = jobs_of(folder)
    states = Counter(job.state for job in jobs)
    if failed and states["done"]:
        print(f"{failed} of {len(jobs)} runs failed", file=sys.stderr)
    unfinished = 0
    for job in jobs:
        if job.state in ("missing", "running") and not job.recorded:
            unfinished += 1
    if unfinished:
        print(
            f"{unfinished} of {len(jobs)} runs are not finished: "
            f"python -m rsbench status {shown_path(folder)}; "
            "the same command again does what is missing",
            file=sys.stderr,
        )


def _try(part: Callable[..., None], *args: Any) -> bool:
    """Do one part of the summing up; if it fails, the others are still done."""
    try:
        part(*args)
        return True
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
    except Exception:
        traceback.print_exc()
    return False


def _clear(folder: Path, new: bool) -> None:
    """Leave no trace of a command in which nothing ran."""
    sweep = read_sweep(folder)
    if sweep and sweep.tracked:
        from rsbench.tracking.mirror import discard_sweep

        discard_sweep(sweep)
    if new:
        shutil.rmtree(folder, ignore_errors=True)


def _show_runs(runs: list[Run], folder: Path) -> None:
    """Write the report, and print its table and where to find it."""
    if not runs:
        return
    # Only now: a command without results need not wait for what this imports.
    from rsbench.report import write_report

    print(f"\n{write_report(runs, folder)}")
    print(f"report  {shown_path(folder / 'report.html')}")
    print(f"figure  {shown_path(folder / 'curves.png')}")


def _close_sweep(folder: Path, status: str) -> None:
    """Write down how the sweep ended."""
    sweep = read_sweep(folder)
    if sweep is not None:
        write_sweep(folder, dataclasses.replace(sweep, status=status))


def _end_tracking(command: Command, runs: list[Run], folder: Path) -> None:
    """Send to MLflow what is not there yet, and print where to see it."""
    if not command.tracking:
        return
    from rsbench.tracking import mirror

    sweep = read_sweep(folder)
    shown = None
    if sweep:
        shown = mirror.close_sweep(folder, sweep, runs)
    elif runs:
        shown = mirror.send_single(runs[0], command.tracking)
    if shown is None or not runs:
        return
    tracker, page = shown
    # A database in a file has no server yet that could show it.
    if tracker.database:
        place = f"sqlite:///{shown_path(tracker.database)}"
        print(f"MLflow  mlflow ui --backend-store-uri {place}")
        print(f"        then open http://127.0.0.1:5000{page}")
    else:
        print(f"MLflow  {tracker.uri}{page}")
