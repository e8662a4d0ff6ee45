"""What a command line leads to, found out and checked before anything is written."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rsbench.cli import configs
from rsbench.cli.job import check_settings
from rsbench.core.experiment import Spec
from rsbench.errors import UserError, did_you_mean
from rsbench.files.atomic import cores
from rsbench.plugins import registry
from rsbench.tracking.mirror import settings

#: Config groups beside the kinds of components.
_OTHER_GROUPS = ("method", "tracking", "experiment")

_LIST = "give a list of values, such as"

#: Launchers and sweepers, and the extra that each comes with.
_EXTRAS = {
    "joblib": "parallel",
    "submitit_local": "cluster",
    "submitit_slurm": "cluster",
    "optuna": "tune",
}


@dataclass(frozen=True)
class Command:
    """A command line understood: Hydra's arguments, the config, and for a sweep what it goes over and its jobs.

    The jobs are None if they are not known before the sweep: some sweepers plan as they go.
    """

    argv: list[str]
    cfg: DictConfig
    swept: list[str] | None
    jobs: list[list[str]] | None
    task: list[str]

    @property
    def is_sweep(self) -> bool:
        return self.swept is not None

    @property
    def experiment(self) -> str | None:
        return self.cfg.hydra.runtime.choices.get("experiment")

    @property
    def launcher(self) -> str:
        return self.cfg.hydra.runtime.choices["hydra/launcher"]

    def with_folder(self, folder: Path) -> list[str]:
        """Hydra's arguments, with the output folder settled and what launcher and sweeper have to be told."""
        sweeper = self.cfg.hydra.sweeper
        # The other launchers see to that themselves, this one starts all jobs of a batch at once.
        at_once = self.launcher == "submitit_local" and "max_batch_size" in sweeper
        more = (
            [f"hydra.sweeper.max_batch_size={sweeper.max_batch_size or cores()}"]
            if at_once
            else []
        )
        if self.is_sweep and _sweeper(self.cfg) != "basic":
            more += ["learn_on=validation"]
            if "sampler" in sweeper and sweeper.sampler.get("seed", 0) is None:
                more += [
                    f"hydra.sweeper.sampler.seed={self.cfg.seed}"
                ]  # so that the same command goes the same way
        return [*self.argv, *more, f"{self.folder_key}={quote(folder)}"]

    def continues(self, argv: list[str]) -> bool:
        """Whether it asks for what another command did, wherever and by whatever launcher it is run.

        Of a single run only the settings are known, without those of Hydra.
        """
        return _essence(self.argv if self.is_sweep else self.task) == _essence(argv)

    @property
    def folder_key(self) -> str:
        return "hydra.sweep.dir" if self.is_sweep else "hydra.run.dir"

    @property
    def folder(self) -> Path:
        return Path(OmegaConf.select(self.cfg, self.folder_key)).absolute()

    @property
    def tracking(self) -> dict[str, str] | None:
        """Where runs are tracked, if they are."""
        return settings(plain(self.cfg.tracking), Path.cwd())


def read_command(argv: list[str]) -> Command:
    """Understand the command line, or say what is wrong with it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--multirun", "-m", action="store_true")
    parser.add_argument("--config-dir", "-cd")
    args, rest = parser.parse_known_args(argv)
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        raise UserError(
            f"unknown option {unknown[0]}. Settings are given as KEY=VALUE; see python -m rsbench --help"
        )
    options = (["--multirun"] if args.multirun else []) + (
        ["--config-dir", args.config_dir] if args.config_dir else []
    )
    with hydra.initialize_config_dir(
        version_base="1.3", config_dir=str(configs.CONF), job_name="rsbench"
    ):
        grammar = OverridesParser.create(
            config_loader=GlobalHydra.instance().config_loader()
        )
        overrides = grammar.parse_overrides(rest)
        _check_groups(overrides)
        first = [_first_choice(override) for override in overrides]
        if args.config_dir:
            first.append(
                f"hydra.searchpath=[{quote('file://' + os.path.abspath(args.config_dir))}]"
            )
        cfg = hydra.compose("config", overrides=first, return_hydra_config=True)
        params = [
            f"{key}={value}"
            for key, value in (cfg.hydra.sweeper.get("params") or {}).items()
        ]
        every = [*grammar.parse_overrides(params), *overrides]
        swept = _swept(every)
        if (
            not cfg.hydra.searchpath
        ):  # whose folders may hold choices that are not known here
            _check_choices(swept)
    is_sweep = args.multirun or cfg.hydra.mode == RunMode.MULTIRUN
    if is_sweep:
        _check_sweep(swept, overrides)
        _check_sweeper(cfg, swept, overrides)
    _check_parts(cfg)
    jobs = _jobs(cfg, every) if is_sweep else None
    task = [word for word in rest if not _of_hydra(word)]
    return Command(
        [*options, *rest], cfg, list(swept) if is_sweep else None, jobs, task
    )


def _of_hydra(word: str) -> bool:
    return word.lstrip("+~").startswith(("hydra.", "hydra/"))


def _jobs(cfg: DictConfig, overrides: list[Override]) -> list[list[str]] | None:
    """The settings of each job that Hydra's own sweeper will start, without those of Hydra."""
    if _sweeper(cfg) != "basic" or any(
        override.is_interval_sweep() for override in overrides
    ):
        return None
    task = [override for override in overrides if not _of_hydra(override.key_or_group)]
    return BasicSweeper.split_arguments(task, None)[0]


def _essence(argv: list[str]) -> list[str]:
    """A command without what tells where and how it is run, not what."""
    how = re.compile(r"\+*(hydra[./]launcher|hydra\.(run|sweep)\.dir|force|on_error)\b")
    return [word for word in argv if not how.match(word)]


def _check_groups(overrides: list[Override]) -> None:
    groups = (*registry.load().components, *_OTHER_GROUPS)
    for override in overrides:
        group, _, key = override.key_or_group.partition(".")
        if group in groups and key == "name":
            raise UserError(
                f"{override.key_or_group} cannot be set: choose with {group}=NAME"
            )
        if (
            override.key_or_group in groups
            and not override.is_delete()
            and override.value() is None
        ):
            raise UserError(
                f"{group}=null chooses nothing: leave {group}= out, or name a choice"
            )


def _first_choice(override: Override) -> str:
    line = override.input_line or ""
    if not override.is_sweep_override():
        return line
    key = override.get_key_element()
    if override.is_interval_sweep():
        interval: Any = override.value()
        return f"{key}={interval.start}"
    choices = (
        list(override.sweep_string_iterator()) if override.is_discrete_sweep() else []
    )
    if not choices:
        raise UserError(f"{line}: nothing to sweep over; {_LIST} {key}=1,2,3")
    return f"{key}={choices[0]}"


def _swept(overrides: list[Override]) -> dict[str, Override]:
    """What the experiment and the command sweep over, the command having the last word."""
    every = {override.key_or_group: override for override in overrides}
    return {
        key: override for key, override in every.items() if override.is_sweep_override()
    }


def _check_choices(swept: dict[str, Override]) -> None:
    """Every choice of a swept config group exists; Hydra would tell only once the sweep is under way."""
    loader = GlobalHydra.instance().config_loader()
    for group, override in swept.items():
        options = (
            loader.get_group_options(group) if override.is_discrete_sweep() else []
        )
        for choice in override.sweep_string_iterator() if options else ():
            word = choice.strip("'\"")
            if word == "null":
                raise UserError(f"{group}=null chooses nothing: leave it out")
            if word not in options:
                raise UserError(registry.load().unknown(group, word, options))


def _check_sweep(swept: dict[str, Override], overrides: list[Override]) -> None:
    given = {override.key_or_group: override for override in overrides}
    if "hydra.run.dir" in given:
        raise UserError(
            "hydra.run.dir is for a single run; this is a sweep: give hydra.sweep.dir"
        )
    if "experiment" in swept:
        raise UserError("a sweep is one experiment: run the command once for each")
    if any(key.partition(".")[0] == "tracking" for key in swept):
        raise UserError("a sweep is tracked in one place: tracking cannot be swept")
    for kind in ("learner", "aggregator"):
        if kind in given and "method" in swept:
            value = given[kind].get_value_element_as_str()
            way = (
                f"Name it as a method: method={value}"
                if kind == "learner"
                else f"Choose one: method=NAME {kind}={value}"
            )
            raise UserError(
                f"{kind}={value} beside a sweep over methods would give all the same {kind}. {way}"
            )


def _check_sweeper(
    cfg: DictConfig, swept: dict[str, Override], overrides: list[Override]
) -> None:
    """Intervals are for sweepers that choose values, and those must not choose by the test set."""
    if _sweeper(cfg) == "basic":
        for key, override in swept.items():
            if override.is_interval_sweep():
                raise UserError(
                    f"{override.input_line}: an interval is for hydra/sweeper=optuna; {_LIST} {key}=1,2,3"
                )
    elif cfg.learn_on != "validation" and any(
        override.key_or_group == "learn_on" for override in overrides
    ):
        raise UserError(
            f"hydra/sweeper={_sweeper(cfg)} tunes on validation classes: leave learn_on out"
        )


def _sweeper(cfg: DictConfig) -> str:
    return cfg.hydra.runtime.choices["hydra/sweeper"]


def _check_parts(cfg: DictConfig) -> None:
    """Everything a run needs is there and can be built."""
    kinds = registry.load().components
    for group in (*kinds, "tracking"):
        if cfg.get(group) is None:
            raise UserError(
                f"{group} is missing: choose one, {group}=NAME"
                + (" (none)" if group == "tracking" else "")
            )
    settings(plain(cfg.tracking), Path.cwd())
    check_settings(cfg)
    Spec(registry.load(), {kind: plain(cfg[kind]) for kind in kinds}).check()


def plain(cfg: DictConfig) -> dict[str, Any]:
    """A part of the config as plain values."""
    values: Any = OmegaConf.to_container(cfg, resolve=True)
    return values


def quote(value: Any) -> str:
    """A value that Hydra's override grammar takes as it is."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def explain(error: Exception) -> str:
    """An error of Hydra or OmegaConf with a suggestion, where the mistake is a misspelt name."""
    if (
        isinstance(error, MissingConfigException)
        and error.missing_cfg_file
        and error.options
    ):
        group, _, name = error.missing_cfg_file.rpartition("/")
        if group.startswith("hydra/") and name in _EXTRAS:
            return f"{group}={name} needs more packages: pip install 'rsbench[{_EXTRAS[name]}]'"
        return registry.load().unknown(group, name, error.options)
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if (
        isinstance(cause, OmegaConfBaseException)
        and "not in" in str(cause)
        and cause.parent_node is not None
    ):
        known = [str(key) for key in cause.parent_node if key != "hydra"]
        return (
            f"unknown setting '{cause.full_key}'. {did_you_mean(str(cause.key), known)}"
        )
    lines = [str(error).strip()]
    if isinstance(cause, OmegaConfBaseException) and cause is not error:
        lines.append(str(cause).splitlines()[0])
    return "\n".join(lines)
