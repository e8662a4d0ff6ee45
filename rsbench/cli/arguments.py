"""A command line taken apart: options, and settings in Hydra's grammar."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from rsbench.errors import UserError


@dataclass(frozen=True)
class Arguments:
    """A command line, with options and settings told apart.

    Parameters
    ----------
    multirun : bool
        Whether `-m` says that it is a sweep.
    config_dir : Path or None
        The user's own configs.
    settings : list of str
        What Hydra calls overrides.
    """

    multirun: bool
    config_dir: Path | None
    settings: list[str]

    @property
    def argv(self) -> list[str]:
        """Return the command line, options first."""
        options = []
        if self.multirun:
            options.append("--multirun")
        if self.config_dir is not None:
            options += ["--config-dir", str(self.config_dir)]
        return [*options, *self.settings]


def read_arguments(argv: list[str]) -> Arguments:
    """Tell options and settings apart.

    Raises
    ------
    UserError
        For an unknown option, or a folder that is not there.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--config-dir", "-cd", type=Path)
    options, rest = parser.parse_known_args(argv)
    for word in rest:
        if word.startswith("-"):
            raise UserError(
                f"unknown option {word}. Settings are given as KEY=VALUE; "
                "see python -m rsbench --help"
            )
    if options.config_dir is not None and not options.config_dir.is_dir():
        raise UserError(f"--config-dir {options.config_dir} is not a folder")
    return Arguments(options.multirun, options.config_dir, rest)
