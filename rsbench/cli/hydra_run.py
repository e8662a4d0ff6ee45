"""The door to Hydra: what only shows something, and what runs."""

import logging
import os
import secrets
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from rsbench.cli import configs
from rsbench.cli.arguments import read_arguments
from rsbench.cli.help import show_help
from rsbench.errors import UserError
from rsbench.plugins import registry

#: Hydra's options that only show something; it sees to them itself.
_SHOW = {
    "--hydra-help",
    "--version",
    "--cfg",
    "-c",
    "--info",
    "-i",
    "--shell-completion",
    "-sc",
}
#: Shown by rsbench itself: see help.py.
_HELP = {"--help", "-h"}

#: What a user can put right, told in a line; anything else comes with its traceback.
_TOLD = (UserError, HydraException, OmegaConfBaseException, YAMLError, OSError)


def main(argv: list[str]) -> int:
    """Run the command line and return its exit code."""
    add_resolver()
    base = Path.cwd()
    # Also `--cfg=job`, in one word.
    if any(word.partition("=")[0] in _SHOW for word in argv):
        configs.offer(base)
        return _show()
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    try:
        return _run(argv, base)
    except KeyboardInterrupt:
        return 130  # what a shell gives to a program that Ctrl-C ends
    except Exception as error:
        _tell(error, base)
        return 1


def version_base() -> dict[str, Any]:
    """Return the argument that Hydra 1.3 asks for, and 1.4 would rather not have."""
    major, minor = hydra.__version__.split(".")[:2]
    if (int(major), int(minor)) < (1, 4):
        return {"version_base": "1.3"}
    return {}


def add_resolver() -> None:
    """Let configs name folders that no other command has."""
    with warnings.catch_warnings():
        # OmegaConf 2.4 has another name for it, which 2.3 does not know.
        warnings.simplefilter("ignore")
        # Cached, so that a folder has one name, however often the config is read.
        OmegaConf.register_new_resolver(
            "rsbench.unique", lambda: secrets.token_hex(3), use_cache=True, replace=True
        )


def _show() -> int:
    """Let Hydra answer: help, the config, where configs come from."""

    def nothing(cfg: Any) -> None:
        """Stand for the job, which is not run."""

    application = hydra.main(str(configs.CONF), "config", **version_base())(nothing)
    application()
    return 0


def explained(error: Exception, base: Path) -> str | None:
    """Return what a user can do about an error, in a line; None if nobody knows."""
    if not isinstance(error, _TOLD):
        return None
    from rsbench.cli.errors import explain

    return explain(error, registry.load(base))


def _tell(error: Exception, base: Path) -> None:
    """Print what went wrong: in a line where a user can put it right, or all of it."""
    message = explained(error, base)
    if message is None or os.environ.get("HYDRA_FULL_ERROR") == "1":
        traceback.print_exception(error)
    else:
        print(f"error: {message}", file=sys.stderr)


def _run(argv: list[str], base: Path) -> int:
    """Show help or run the command, with Hydra initialized for either."""
    wants_help = not _HELP.isdisjoint(argv)
    arguments = read_arguments([word for word in argv if word not in _HELP])
    config_dir = arguments.config_dir
    if config_dir is not None:
        config_dir = config_dir.absolute()
    configs.offer(base, config_dir)
    # `hydra.main` would tell errors its own way and end the process.
    with hydra.initialize_config_dir(
        str(configs.CONF), job_name="rsbench", **version_base()
    ):
        if wants_help:
            composed = hydra.compose("config", overrides=arguments.settings)
            return show_help(base, composed)
        # Only now, so that help does not wait for what it has no use for.
        from rsbench.cli.command import read_command
        from rsbench.cli.hydra_jobs import run_command

        return run_command(read_command(arguments, registry.load(base)))
