"""The Hydra run: the output folder, the jobs, then the summing up.

Hydra calls no callback when a job fails or on Ctrl-C, and swallows errors in those it
calls. So what belongs to a sweep's start and end is done here, around it.
"""

import gc
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from hydra.core.global_hydra import GlobalHydra

from rsbench.cli import outputs
from rsbench.cli.command import Command
from rsbench.cli.job import job as run_job
from rsbench.cli.status import jobs_of
from rsbench.cli.summing_up import sum_up
from rsbench.errors import UserError


def run_command(command: Command) -> int:
    """Run the command's jobs, sum up, and return the exit code.

    Raises
    ------
    UserError
        If the folder is taken or cannot be written, or no job came to its end.
    KeyboardInterrupt
        On Ctrl-C, once what finished has been summed up.
    """
    folder = command.folder
    new = outputs.make(folder)
    outputs.settle(command, folder)
    # Modules stay to the end: no need to look for garbage among them at every job.
    gc.freeze()
    # Until the opposite is known, whatever error ends it.
    status = "FAILED"
    try:
        _hydra(command, folder)
        if _all_recorded(folder):
            status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        print("\nstopped", file=sys.stderr)
        raise
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process was killed, perhaps for want of memory, and joblib gave "
            "up: the same command again does what is missing"
        ) from error
    except ValueError as error:
        # A sweeper that tunes looks for the best of the trials in the end.
        if command.tunes and not any(job.state == "done" for job in jobs_of(folder)):
            raise UserError("no trial came to its end, so none is the best") from error
        raise
    finally:
        summed_up = sum_up(command, folder, new, status)
    if status == "FINISHED" and summed_up:
        return 0
    return 1


def _all_recorded(folder: Path) -> bool:
    """Tell whether every job is done, even if another command is looking at it."""
    jobs = jobs_of(folder)
    return all(job.recorded and job.state != "failed" for job in jobs)


def _hydra(command: Command, folder: Path) -> None:
    """Run the command's jobs; errors of jobs are in their folders."""
    guest = GlobalHydra.instance().hydra
    assert guest is not None
    run = guest.run
    if command.is_sweep:
        run = guest.multirun
    run(
        config_name="config",
        task_function=run_job,
        overrides=command.overrides(folder),
    )
