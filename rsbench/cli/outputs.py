"""The output folder of a command: made, found free or one's own, and described."""

import dataclasses
import uuid
from pathlib import Path

from omegaconf import OmegaConf
from yaml import YAMLError

from rsbench.cli.command import Command
from rsbench.cli.status import ERROR_FILE
from rsbench.errors import UserError
from rsbench.files.atomic import locked
from rsbench.store.record import result_folders
from rsbench.store.sweep import SWEEP_FILE, Sweep, read_sweep, write_sweep

#: Files whose presence means that a folder holds results.
_RESULTS = ("curves.csv", ERROR_FILE, SWEEP_FILE, "multirun.yaml")


def make(folder: Path) -> bool:
    """Make sure that the output folder can be written; tell whether it is new."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried out, since a full or read-only disk does not show in permissions.
        probe = folder / ".probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"cannot write to the output folder {folder}: {error.strerror}. "
            "Choose another with hydra.run.dir=DIR (a sweep: hydra.sweep.dir=DIR)"
        ) from None
    return new


def settle(command: Command, folder: Path) -> None:
    """Go on in the folder if the same command was at work in it, or begin there."""
    # The same command may be started twice at once.
    with locked(folder / ".start.lock"):
        earlier = _earlier_command(folder, command.is_sweep)
        if earlier is not None and command.continues(earlier):
            # What failed is tried again; what is done stays.
            for file in files_of(command, folder, ERROR_FILE):
                file.unlink()
        else:
            _check_free(command, folder)
        if command.is_sweep:
            _open_sweep(command, folder)


def files_of(command: Command, folder: Path, name: str) -> list[Path]:
    """Return the files of that name that the command's jobs have written."""
    if not command.is_sweep:
        file = folder / name
        if file.exists():
            return [file]
        return []
    found = []
    for place, files in result_folders(folder):
        if name in files:
            found.append(place / name)
    return sorted(found)


def _check_free(command: Command, folder: Path) -> None:
    """Raise an error if the folder holds somebody's results."""
    for name in _RESULTS:
        taken = (folder / name).exists()
        if taken or (command.is_sweep and files_of(command, folder, name)):
            raise UserError(
                f"{folder} holds the results of another command ({name}): "
                "choose a new folder"
            )


def _earlier_command(folder: Path, is_sweep: bool) -> list[str] | None:
    """Return the command that was at work in a folder; None if there was none.

    A sweep's is known whole, of a single run only the settings.
    """
    if is_sweep:
        sweep = read_sweep(folder)
        if sweep is None:
            return None
        return list(sweep.command)
    try:
        return list(OmegaConf.load(folder / ".hydra" / "overrides.yaml"))
    except (OSError, YAMLError):
        return None


def _open_sweep(command: Command, folder: Path) -> None:
    """Write down what the sweep is; its sweeper adds the jobs."""
    # A sweep that goes on is the same one, to MLflow too.
    earlier = read_sweep(folder)
    sweep_id = uuid.uuid4().hex
    jobs = None
    if earlier is not None:
        sweep_id = earlier.id
        jobs = earlier.jobs
    sweep = Sweep(
        id=sweep_id,
        name=f"{command.experiment or 'sweep'} {folder.name}",
        swept=tuple(command.swept or ()),
        command=tuple(command.arguments.argv),
        jobs=jobs,
        tracking=command.tracking,
    )
    if command.tracking:
        from rsbench.tracking.mirror import open_sweep

        tracked = open_sweep(sweep, folder)
        sweep = dataclasses.replace(sweep, tracked=tracked)
    write_sweep(folder, sweep)
