"""An experiment of the command line, from Python: the same configs, no command."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import open_dict

from rsbench.cli import configs
from rsbench.cli.arguments import read_arguments
from rsbench.cli.command import compose, experiments_words, quote, read_command
from rsbench.cli.hydra_run import add_resolver, explained, version_base
from rsbench.cli.plan import note_left_out, plan
from rsbench.cli.prepare import prepare
from rsbench.errors import UserError
from rsbench.plugins import registry
from rsbench.store.record import Run


def run_experiment(name: str, settings: Mapping[str, Any]) -> list[Run]:
    """Run the jobs of an experiment in this process, and return its finished runs.

    Parameters
    ----------
    name : str
        The experiment.
    settings : mapping
        Settings by name; dots are two underscores, and lists are swept over.

    Raises
    ------
    UserError
        For what a user can put right, Hydra's own errors among it.
    """
    base = Path.cwd()
    words = [f"+experiment={name}", *_words(settings)]
    add_resolver()
    configs.offer(base)
    try:
        with hydra.initialize_config_dir(
            str(configs.CONF), job_name="rsbench", **version_base()
        ):
            return _run(words, base)
    except UserError:
        raise
    except Exception as error:
        message = explained(error, base)
        if message is None:
            raise
        raise UserError(message) from error


def _run(words: list[str], base: Path) -> list[Run]:
    """Plan the jobs as the command's sweeper does, and run them one by one."""
    loaded = registry.load(base)
    command = read_command(read_arguments(words), loaded)
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    planned = experiments_words(command.cfg)
    overrides = parser.parse_overrides([*planned, *words])
    jobs, left_out = plan(loaded, overrides, compose)
    note_left_out(left_out)
    runs = []
    for job in jobs:
        # In a job of the command, Hydra takes its own part out of the config.
        hydra_cfg = job.config.hydra
        with open_dict(job.config):
            del job.config["hydra"]
        prepared = prepare(job.config, hydra_cfg, command.swept or ())
        # In no folder: the seeds are kept, and the caller has the results.
        runs.append(prepared.run())
    return runs


def _words(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as the command line has them."""
    words = []
    for key, value in settings.items():
        # As `rsbench.run` calls them.
        if key == "methods":
            key = "method"
        key = key.replace("__", ".")
        if isinstance(value, (list, tuple)):
            written = ",".join(_written(item) for item in value)
        else:
            written = _written(value)
        words.append(f"{key}={written}")
    return words


def _written(value: Any) -> str:
    """Return a value as the override grammar writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):  # before numbers, since it is one to Python
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_written(item) for item in value) + "]"
    return quote(value)
