"""What has become of a command's jobs: done, failed, running or missing.

A job holds a lock in its folder while its process lives, however that process ends; so
"running" is never a guess.
"""

import argparse
import contextlib
import fcntl
import functools
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from rsbench.errors import UserError
from rsbench.store.record import result_folders
from rsbench.store.sweep import SWEEP_FILE, read_sweep

#: What a failed job leaves in its folder.
ERROR_FILE = "error.txt"

_STATES = ("done", "failed", "running", "missing")
#: A lock that a job's folder has from its start on, also when nobody holds it.
_MARK = re.compile(r"\.job-(\d+)\.lock")


@dataclass(frozen=True)
class Job:
    """A job of a sweep, or a single run.

    Parameters
    ----------
    number : int
        Its place in the sweep.
    what : tuple of str
        The settings that tell it from the sweep's other jobs.
    state : str
        done, failed, running or missing.
    cause : str
        Why it failed.
    interrupted : bool
        Whether it is missing although it had begun.
    recorded : bool
        Whether its record is there, also while another command looks at it.
    """

    number: int
    what: tuple[str, ...]
    state: str
    cause: str = ""
    interrupted: bool = False
    recorded: bool = False


@contextlib.contextmanager
def being_run(folder: Path, number: int) -> Iterator[None]:
    """Hold the lock of a job's folder; a second process with the same job waits.

    Parameters
    ----------
    folder : Path
        The job's folder.
    number : int
        Its place in the sweep; 0 for a single run.

    Raises
    ------
    UserError
        If the folder cannot be written, or is another job's too.
    """
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
            f"jobs {others[0]} and {number} share the folder {folder}: "
            "hydra.sweep.subdir has to tell jobs apart, such as "
            "hydra.sweep.subdir='${hydra.job.num}'"
        )
    try:
        yield
    finally:
        lock.release()


def jobs_of(folder: Path) -> list[Job]:
    """Return the jobs of a sweep, or the one of a single run, in their order."""
    sweep = read_sweep(folder)
    if sweep is None:
        return [_job(0, (), folder)]
    places: dict[int, Path] = {}
    settings: dict[int, Sequence[str]] = {}
    for place, _ in result_folders(folder):
        for number in _numbers(place):
            places[number] = place
            settings[number] = _overrides(place)
    # What was planned has the last word, and knows of jobs that have not begun.
    settings.update(enumerate(sweep.jobs or ()))
    jobs = []
    for number, words in sorted(settings.items()):
        what = _telling(words, sweep.swept)
        jobs.append(_job(number, what, places.get(number)))
    return jobs


def _telling(words: Sequence[str], swept: Collection[str]) -> tuple[str, ...]:
    """Return the settings among these that a sweep goes over."""
    return tuple(word for word in words if _key(word) in swept)


@functools.cache
def _key(word: str) -> str:
    """Return what a job's override sets; jobs of a sweep share most of them."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create().parse_override(word).key_or_group


def _overrides(place: Path) -> list[str]:
    """Return the settings of a job that has begun; some sweepers plan as they go."""
    import yaml

    file = place / ".hydra" / "overrides.yaml"
    try:
        return yaml.safe_load(file.read_text()) or []
    except (OSError, yaml.YAMLError):
        return []


def _job(number: int, what: tuple[str, ...], place: Path | None) -> Job:
    """Return a job in the state that its folder shows."""
    if place is None:
        return Job(number, what, "missing")
    recorded = (place / "curves.csv").exists()
    # Before all else: a job that is run again still has its old files.
    if _locked(place / f".job-{number}.lock"):
        return Job(number, what, "running", recorded=recorded)
    error = place / ERROR_FILE
    if error.exists():
        message = error.read_text().partition("\n")[0]
        return Job(number, what, "failed", f"{message} ({error})")
    if recorded:
        return Job(number, what, "done", recorded=True)
    return Job(number, what, "missing", interrupted=True)


def _locked(path: Path) -> bool:
    """Tell whether a living process holds a lock; one that has died holds none."""
    try:
        with open(path) as file:
            # Shared: those who only ask do not see each other.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _numbers(place: Path) -> list[int]:
    """Return the numbers of the jobs that ran in a folder: one, or none."""
    marks = []
    for name in os.listdir(place):
        found = _MARK.fullmatch(name)
        if found:
            marks.append(int(found[1]))
    # Sweeps of the first releases had no locks, but numbered folders.
    if not marks and place.name.isdecimal() and (place / "curves.csv").exists():
        return [int(place.name)]
    return marks


def places_of(folder: Path) -> list[Path]:
    """Return the sweeps and single runs in a folder and below."""
    found: list[Path] = []
    for place, files in result_folders(folder):
        # Folders come before those below them, so a sweep's jobs are passed over here.
        if any(place.is_relative_to(other) for other in found):
            continue
        begun = not files.isdisjoint((SWEEP_FILE, "curves.csv"))
        if begun or _numbers(place):
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
        counts = []
        for state in _STATES:
            if counted[state]:
                counts.append(f"{counted[state]} {state}")
        print(f"{place}: {', '.join(counts)}")
        # Of a single run that is done there is no more to say.
        if len(jobs) == 1 and counted["done"]:
            continue
        for job in jobs:
            parts = list(job.what)
            if job.cause:
                parts.append(job.cause)
            if job.interrupted:
                parts.append("interrupted")
            print(f"  {job.number:>4} {job.state:<8} {' '.join(parts)}".rstrip())
    return 0
