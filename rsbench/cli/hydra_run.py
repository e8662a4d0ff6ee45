"""The Hydra run: understand the command, run it, then sum up.

Hydra calls no callback when a job fails or on Ctrl-C, and swallows errors in those it calls. So
what belongs to a sweep's start and end is done here, around it.
"""

import logging
import os
import secrets
import shutil
import sys
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from rsbench.cli import configs
from rsbench.cli.command import Command, explain, read_command
from rsbench.cli.job import job
from rsbench.cli.launchers import compose_jobs_once, outlive_killed_jobs
from rsbench.cli.status import ERROR_FILE, jobs_of
from rsbench.errors import UserError
from rsbench.files.atomic import alone
from rsbench.files.cache import cache_root
from rsbench.plugins import registry
from rsbench.store.record import (
    ARTIFACTS_FOLDER,
    SWEEP_FILE,
    Run,
    find,
    read,
    read_sweep,
    write_sweep,
)

#: Hydra flags that only show something.
_SHOW = {
    "--help",
    "-h",
    "--hydra-help",
    "--version",
    "--cfg",
    "-c",
    "--info",
    "-i",
    "--shell-completion",
    "-sc",
}

#: Files whose presence means that a folder holds results.
_RESULTS = ("curves.csv", ERROR_FILE, SWEEP_FILE, "multirun.yaml")


def main(argv: list[str]) -> int:
    """Run the command line and return its exit code."""
    showing = bool(_SHOW & {word.split("=")[0] for word in argv})
    if not showing:
        logging.basicConfig(format="%(message)s", level=logging.WARNING)
    configs.store(registry.load())
    configs.add_presets(registry.load())
    # Jobs may run in other processes and folders; they are to find the same plugins and caches.
    folders = [
        str(folder.resolve()) for folder in registry.plugin_folders() if folder.is_dir()
    ]
    os.environ["RSBENCH_PLUGINS"] = os.pathsep.join(folders)
    os.environ["RSBENCH_CACHE"] = str(cache_root().absolute())
    OmegaConf.register_new_resolver(
        "rsbench.unique", lambda: secrets.token_hex(3), use_cache=True, replace=True
    )
    verbose = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = (
        "1"  # let errors reach us: Hydra would print and exit
    )
    try:
        if showing:
            _hydra(argv)
            return 0
        return _run(read_command(argv))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if verbose or not isinstance(
            error,
            (UserError, HydraException, OmegaConfBaseException, YAMLError, OSError),
        ):
            traceback.print_exc()
        else:
            print(f"error: {explain(error)}", file=sys.stderr)
        return 1


def _hydra(argv: list[str]) -> None:
    sys.argv = [sys.argv[0], *argv]
    hydra.main(config_path=str(configs.CONF), config_name="config", version_base="1.3")(
        job
    )()


def _run(command: Command) -> int:
    folder = command.folder
    new = _make_folder(folder)
    status = "FAILED"
    with alone(folder / ".start.lock"):  # the same command may be started twice at once
        _settle(command, folder)
    if command.launcher == "basic":
        compose_jobs_once()
    if command.launcher in ("submitit_local", "submitit_slurm", "slurm"):
        outlive_killed_jobs()
    try:
        _hydra(command.with_folder(folder))
        status = (
            "FINISHED"
            if all(job.state == "done" for job in jobs_of(folder))
            else "FAILED"
        )
    except KeyboardInterrupt:
        status = "KILLED"
        print("\nstopped", file=sys.stderr)
        raise
    except Exception as error:  # outside of jobs, whose own errors are told by _sum_up
        if isinstance(error, ValueError) and str(error).startswith(
            "No trials are completed"
        ):
            raise UserError("no trial came to its end, so none is the best") from error
        if type(error).__name__ != "TerminatedWorkerError":
            raise
        cause = "a worker process was killed, perhaps for want of memory, and joblib gave up"
        raise UserError(
            f"{cause}: the same command again does what is missing"
        ) from error
    finally:
        summed_up = _sum_up(command, folder, new, status)
    return 0 if status == "FINISHED" and summed_up else 1


def _settle(command: Command, folder: Path) -> None:
    """Go on in the folder if the same command was at work in it, begin there if nobody was."""
    earlier = _earlier_command(folder, command.is_sweep)
    if earlier is not None and command.continues(earlier):
        for file in _all(ERROR_FILE, folder, command):
            file.unlink()
    else:
        taken = [folder / file for file in _RESULTS if (folder / file).exists()]
        if command.is_sweep:
            taken += [path for file in _RESULTS for path in _all(file, folder, command)]
        if taken:
            raise UserError(
                f"{folder} holds the results of another command ({taken[0].name}): choose a new folder"
            )
    if command.is_sweep:
        _open_sweep(command, folder)


def _earlier_command(folder: Path, is_sweep: bool) -> list[str] | None:
    """The command that was at work in a folder: a sweep's whole, a single run's settings; None if there was none."""
    if is_sweep:
        return (read_sweep(folder) or {}).get("command")
    try:
        return list(OmegaConf.load(folder / ".hydra" / "overrides.yaml"))
    except (OSError, YAMLError):
        return None


def _make_folder(folder: Path) -> bool:
    """Make sure that the output folder can be written; whether it is new."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"cannot write to the output folder {folder}: {error.strerror}. "
            "Choose another with hydra.run.dir=DIR (a sweep: hydra.sweep.dir=DIR)"
        ) from None
    return new


def _open_sweep(command: Command, folder: Path) -> None:
    earlier = read_sweep(folder)
    sweep = {
        "id": earlier["id"] if earlier else uuid.uuid4().hex,
        "name": f"{command.experiment or 'sweep'} {folder.name}",
        "swept": command.swept,
        "command": command.argv,
        "jobs": command.jobs,
        "tracking": command.tracking,
        "tracked": False,
    }
    if command.tracking:
        from rsbench.tracking.mirror import open_sweep

        sweep["tracked"] = open_sweep(sweep, folder)
    write_sweep(folder, sweep)


def _sum_up(command: Command, folder: Path, new: bool, status: str) -> bool:
    """Table and figure of what finished, then what failed; whether all of that could be done."""
    finished = _all("curves.csv", folder, command)
    runs = (
        find(folder) if command.is_sweep else [read(path.parent) for path in finished]
    )
    failed = {
        file: file.read_text().partition("\n\n")
        for file in _all(ERROR_FILE, folder, command)
    }
    unexpected = [file for file, (_, _, trace) in failed.items() if trace]
    good = len(runs) == len(finished)
    interrupted = [job for job in jobs_of(folder) if job.cause == "interrupted"]
    if finished or unexpected or interrupted or status == "KILLED":
        good &= _try(_close_sweep, folder, status)
        good &= _try(_show_runs, runs, folder)
        good &= _try(_end_tracking, command, runs, folder)
    else:
        _clear(folder, new)
    _tell_failures(folder, failed)
    return good


def _tell_failures(folder: Path, failed: dict[Path, tuple[str, str, str]]) -> None:
    """What went wrong, each kind once with the file of its first traceback, and what is still to be done."""
    told: set[str] = set()
    for file, (message, _, trace) in failed.items():
        if message not in told:
            print(f"error: {message.strip()}", file=sys.stderr)
            if trace:
                print(f"traceback: {_shown(file)}", file=sys.stderr)
        told.add(message)
    if not folder.exists():
        return
    states = [job.state for job in jobs_of(folder)]
    if failed and "done" in states:
        print(f"{len(failed)} of {len(states)} runs failed", file=sys.stderr)
    if states.count("missing") + states.count("running"):
        print(
            f"{states.count('missing') + states.count('running')} of {len(states)} runs are not finished: "
            f"python -m rsbench status {_shown(folder)}; the same command again does what is missing",
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
    if sweep and sweep["tracked"]:
        from rsbench.tracking.mirror import discard_sweep

        discard_sweep(sweep)
    if new:
        shutil.rmtree(folder, ignore_errors=True)


def _all(name: str, folder: Path, command: Command) -> list[Path]:
    """The files of that name that the command's jobs have written."""
    if not command.is_sweep:
        return [path for path in (folder / name,) if path.exists()]
    return sorted(
        path for path in folder.rglob(name) if ARTIFACTS_FOLDER not in path.parts
    )


def _show_runs(runs: list[Run], folder: Path) -> None:
    if not runs:
        return
    from rsbench.report import write_report

    print(f"\n{write_report(runs, folder)}")
    print(f"report  {_shown(folder / 'report.html')}")
    print(f"figure  {_shown(folder / 'curves.png')}")


def _close_sweep(folder: Path, status: str) -> None:
    sweep = read_sweep(folder)
    if sweep is not None:
        write_sweep(folder, {**sweep, "status": status})


def _end_tracking(command: Command, runs: list[Run], folder: Path) -> None:
    if not command.tracking:
        return
    from rsbench.tracking import mirror as tracking

    sweep, shown = read_sweep(folder), None
    if sweep:
        shown = tracking.close_sweep(folder, sweep, runs)
    elif runs:
        shown = tracking.send_single(runs[0], command.tracking)
    if shown is None or not runs:
        return
    tracker, page = shown
    if tracker.database:
        print(
            f"MLflow  mlflow ui --backend-store-uri sqlite:///{_shown(tracker.database)}"
        )
        print(f"        then open http://127.0.0.1:5000{page}")
    else:
        print(f"MLflow  {tracker.uri}{page}")


def _shown(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
