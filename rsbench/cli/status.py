"""What has become of a command's jobs: done, failed, running or missing.

A job holds a lock in its folder while its process lives, however that process ends; so "running" is never a guess.
"""

import argparse
import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from rsbench.errors import UserError
from rsbench.store.record import ARTIFACTS_FOLDER, SWEEP_FILE, read_sweep

ERROR_FILE = "error.txt"

_STATES = ("done", "failed", "running", "missing")
_MARK = re.compile(r"\.job-(\d+)\.lock")


@dataclass(frozen=True)
class Job:
    """A job of a sweep, or a single run: its number, what it is of, its state, and why it failed."""

    number: int
    what: str
    state: str
    cause: str = ""


@contextlib.contextmanager
def being_run(folder: Path, number: int) -> Iterator[None]:
    """Hold the lock of a job's folder; a second process that is to run the same job waits."""
    lock = FileLock(folder / f".job-{number}.lock")
    try:
        lock.acquire()
    except OSError as error:
        raise UserError(
            f"cannot write to the output folder {folder}: {error.strerror}"
        ) from None
    others = [other for other in _numbers(folder) if other != number]
    if others:
        lock.release()
        raise UserError(
            f"jobs {others[0]} and {number} share the folder {folder}: hydra.sweep.subdir has to tell jobs apart, "
            "such as hydra.sweep.subdir='${hydra.job.num}'"
        )
    try:
        yield
    finally:
        lock.release()


def jobs_of(folder: Path) -> list[Job]:
    """The jobs of a sweep, or the one of a single run, in the order they were planned."""
    sweep = read_sweep(folder)
    if sweep is None:
        return [_job(0, "", folder)]
    planned = dict(enumerate(sweep.get("jobs") or ()))
    places = {number: place for place in _folders(folder) for number in _numbers(place)}
    begun = {number: _overrides(place) for number, place in places.items()}
    return [
        _job(
            number,
            " ".join(
                word
                for word in words
                if word.partition("=")[0].lstrip("+") in sweep["swept"]
            ),
            place,
        )
        for number, words in sorted({**begun, **planned}.items())
        for place in [places.get(number)]
    ]


def _overrides(place: Path) -> list[str]:
    """The settings of a job that has begun, as Hydra notes them; some sweepers plan as they go."""
    file = place / ".hydra" / "overrides.yaml"
    return (
        [line.removeprefix("- ") for line in file.read_text().splitlines()]
        if file.exists()
        else []
    )


def _job(number: int, what: str, place: Path | None) -> Job:
    if place is None:
        return Job(number, what, "missing")
    if _locked(place / f".job-{number}.lock"):
        return Job(number, what, "running")
    error = place / ERROR_FILE
    if error.exists():
        return Job(
            number,
            what,
            "failed",
            f"{error.read_text().partition(chr(10))[0]} ({error})",
        )
    return (
        Job(number, what, "done")
        if (place / "curves.csv").exists()
        else Job(number, what, "missing", "interrupted")
    )


def _locked(path: Path) -> bool:
    import fcntl

    try:
        with open(path) as file:
            fcntl.flock(
                file, fcntl.LOCK_SH | fcntl.LOCK_NB
            )  # shared: those who only ask do not see each other
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _folders(folder: Path) -> Iterator[Path]:
    for place, below, _ in os.walk(folder):
        below[:] = sorted(
            name
            for name in below
            if name != ARTIFACTS_FOLDER and not name.startswith(".")
        )
        yield Path(place)


def _numbers(place: Path) -> list[int]:
    """The numbers of the jobs that ran in a folder: one, or none."""
    marks = [
        int(found[1]) for name in os.listdir(place) if (found := _MARK.fullmatch(name))
    ]
    by_name = (
        [int(place.name)]
        if place.name.isdecimal() and (place / "curves.csv").exists()
        else []
    )
    return marks or by_name


def places_of(folder: Path) -> list[Path]:
    """The sweeps and single runs in a folder and below."""
    found: list[Path] = []
    for place in _folders(folder):
        if not any(place.is_relative_to(other) for other in found) and (
            (place / SWEEP_FILE).exists()
            or (place / "curves.csv").exists()
            or _numbers(place)
        ):
            found.append(place)
    return found


def show(args: argparse.Namespace) -> int:
    """Print the state of each job, and how many there are of each."""
    places = places_of(args.folder)
    if not places:
        raise UserError(f"{args.folder}: no sweep or run in it")
    for place in places:
        jobs = jobs_of(place)
        counted = Counter(job.state for job in jobs)
        print(
            f"{place}: {', '.join(f'{counted[state]} {state}' for state in _STATES if counted[state])}"
        )
        for job in jobs if len(jobs) > 1 or not counted["done"] else ():
            print(f"  {job.number:>4} {job.state:<8} {job.what} {job.cause}".rstrip())
    return 0
