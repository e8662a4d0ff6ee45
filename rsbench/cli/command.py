"""What a command line leads to, found out and checked before anything is written."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, QuotedString
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from rsbench.cli.arguments import Arguments, read_arguments
from rsbench.cli.controls import NONE, OLD_METHODS, Controlled
from rsbench.cli.objects import build_setup, check_settings, plain
from rsbench.cli.plan import LeftOut, refusal, under_control
from rsbench.errors import UserError
from rsbench.plugins.registry import Registry
from rsbench.running import check
from rsbench.tracking.mirror import settings

#: Config groups beside the kinds of components.
_OTHER_GROUPS = ("method", "control", "tracking", "experiment")

#: Settings of where and how a command is run, not of what it does.
_HOW = (
    "force",
    "on_error",
    "hydra/launcher",
    "hydra.launcher",
    "hydra.run.dir",
    "hydra.sweep.dir",
)

#: Settings of what is said of results: what was computed stays as it is.
_SAID = ("judged_step", "table_steps", "margin", "counterparts")

#: Sweepers that know all jobs beforehand; others choose as they go, by results.
_PLANNING_SWEEPERS = ("rsbench", "basic")

_LIST = "give a list of values, such as"

#: Launchers that give up when one of their jobs is killed, and what outlives it.
_OUTLIVES = {
    "submitit_local": "hydra_plugins.rsbench_sweeps.SubmititLocal",
    "submitit_slurm": "hydra_plugins.rsbench_sweeps.SubmititSlurm",
    "slurm": "hydra_plugins.rsbench_sweeps.SubmititSlurm",
}


@dataclass(frozen=True)
class Command:
    """A command line understood.

    Parameters
    ----------
    arguments : Arguments
        What was typed.
    cfg : DictConfig
        The config of the run, of a sweep with the first of all values.
    swept : list of str or None
        What a sweep goes over; None for a single run.
    """

    arguments: Arguments
    cfg: DictConfig
    swept: list[str] | None

    @property
    def is_sweep(self) -> bool:
        """Tell whether it has several jobs, or could have."""
        return self.swept is not None

    @property
    def experiment(self) -> str | None:
        """Return the chosen experiment."""
        return self.cfg.hydra.runtime.choices.get("experiment")

    @property
    def tunes(self) -> bool:
        """Tell whether its sweeper chooses values by the results of earlier ones."""
        return self.is_sweep and not _plans_all(self.cfg)

    def overrides(self, folder: Path) -> list[str]:
        """Return what Hydra is told: what was typed, and where and how to run it."""
        more = [f"{self.folder_key}={quote(folder)}"]
        if self.is_sweep:
            more.append("hydra.mode=MULTIRUN")
            more += self._for_a_tuner()
            launcher = self.cfg.hydra.runtime.choices["hydra/launcher"]
            if launcher in _OUTLIVES:
                more.append(f"hydra.launcher._target_={_OUTLIVES[launcher]}")
        return [*self.arguments.settings, *more]

    def _for_a_tuner(self) -> list[str]:
        """Return what a sweeper that chooses by results has to be told."""
        if not self.tunes:
            return []
        # Choosing by the errors that are reported would make them too low.
        more = ["learn_on=validation"]
        sweeper = self.cfg.hydra.sweeper
        if "sampler" in sweeper and sweeper.sampler.get("seed", 0) is None:
            # So that the same command tries the same values.
            more.append(f"hydra.sweeper.sampler.seed={self.cfg.seed}")
        return more

    def continues(self, argv: list[str]) -> bool:
        """Tell whether it asks for what an earlier command did.

        Where and how it is run does not matter: a sweep may go on on a cluster.

        Parameters
        ----------
        argv : list of str
            The earlier command line. Of a single run only the settings are known,
            without those of Hydra.
        """
        earlier = read_arguments(argv)
        mine = _essence(self.arguments.settings, hydras_too=self.is_sweep)
        theirs = _essence(earlier.settings, hydras_too=self.is_sweep)
        if not self.is_sweep:
            return mine == theirs
        options = (self.arguments.multirun, self.arguments.config_dir)
        return mine == theirs and options == (earlier.multirun, earlier.config_dir)

    @property
    def folder_key(self) -> str:
        """Return the setting that names the output folder."""
        if self.is_sweep:
            return "hydra.sweep.dir"
        return "hydra.run.dir"

    @property
    def folder(self) -> Path:
        """Return the output folder."""
        return Path(OmegaConf.select(self.cfg, self.folder_key)).absolute()

    @property
    def tracking(self) -> dict[str, str] | None:
        """Return where runs are tracked, if they are."""
        return settings(plain(self.cfg.tracking), Path.cwd())


def read_command(arguments: Arguments, loaded: Registry) -> Command:
    """Understand the command line, or say what is wrong with it.

    Hydra is to be initialized; nothing is written yet.

    Parameters
    ----------
    arguments : Arguments
        What was typed.
    loaded : Registry
        All components.

    Raises
    ------
    UserError
        For whatever is wrong with it; Hydra's own errors are raised as they are.
    """
    loader = GlobalHydra.instance().config_loader()
    grammar = OverridesParser.create(config_loader=loader)
    given = grammar.parse_overrides(arguments.settings)
    _check_groups(loaded, given)
    control = _single_control(given)
    # Without the control, which cannot always be applied: see `_under_control`.
    words = []
    for override in given:
        if override.key_or_group != "control":
            words.append(_first_choice(override))
    cfg = compose(words)
    # The experiment's first, so that the command has the last word.
    swept = _swept([*grammar.parse_overrides(experiments_words(cfg)), *given])
    if not cfg.hydra.searchpath:  # whose folders may hold choices that are not known
        _check_choices(loaded, swept, given)
    if _is_sweep(arguments, cfg, swept):
        _check_sweep(swept, given)
        _check_sweeper(cfg, swept, given)
        _check_parts(loaded, cfg)
        return Command(arguments, cfg, list(swept))
    if swept:
        several = next(iter(swept.values())).input_line
        raise UserError(f"{several}: several values make a sweep, which -m asks for")
    # A sweep's controls are applied job by job, when it is planned.
    if control != NONE:
        cfg = _under_control(loaded, cfg, control, given)
    _check_parts(loaded, cfg)
    return Command(arguments, cfg, None)


def experiments_words(cfg: DictConfig) -> list[str]:
    """Return what the experiment sweeps over, as words of a command."""
    params = cfg.hydra.sweeper.get("params") or {}
    return [f"{key}={value}" for key, value in params.items()]


def compose(overrides: list[str]) -> DictConfig:
    """Return the config of some overrides, with Hydra's own part of it."""
    return hydra.compose("config", overrides=overrides, return_hydra_config=True)


def _is_sweep(
    arguments: Arguments, cfg: DictConfig, swept: dict[str, Override]
) -> bool:
    """Tell whether a command is a sweep: it says so, or its experiment does."""
    if arguments.multirun or cfg.hydra.mode == RunMode.MULTIRUN:
        return True
    if cfg.hydra.sweeper.get("params"):
        return True
    # Of an experiment several values are enough; elsewhere -m has to ask for a sweep.
    return bool(swept) and cfg.hydra.runtime.choices.get("experiment") is not None


def _single_control(given: list[Override]) -> str:
    """Return the control that a command names, if it is one for all its jobs."""
    # Hydra takes the last word on a key.
    for override in reversed(given):
        if override.key_or_group == "control" and not override.is_sweep_override():
            return str(override.value())
    return NONE


def _under_control(
    loaded: Registry, cfg: DictConfig, control: str, given: list[Override]
) -> DictConfig:
    """Return the config under the control of a single run, if that can change it."""
    method = cfg.hydra.runtime.choices.get("method") or cfg.learner.name
    words = [override.input_line or "" for override in given]
    keys = {override.key_or_group for override in given}
    asked = Controlled(method, control)
    found = under_control(loaded, cfg, asked, words, "annotation" in keys, compose)
    if isinstance(found, LeftOut):
        raise UserError(refusal(found))
    return found


def _essence(settings: list[str], hydras_too: bool) -> list[str]:
    """Return the settings that tell what is done, not where and how."""
    kept = []
    for override in OverridesParser.create().parse_overrides(settings):
        key = override.key_or_group
        if key in _HOW or key.startswith("hydra.launcher."):
            continue
        # A sweep over one of them has other jobs.
        if key in _SAID and not override.is_sweep_override():
            continue
        if hydras_too or not override.is_hydra_override():
            kept.append(override.input_line or "")
    return kept


def _check_groups(loaded: Registry, given: list[Override]) -> None:
    """Raise an error for a choice that Hydra would take, and the run stumble over."""
    groups = (*loaded.components, *_OTHER_GROUPS)
    for override in given:
        group, _, key = override.key_or_group.partition(".")
        # Another name over the parameters of the first would be neither of the two.
        if group in groups and key == "name":
            raise UserError(
                f"{override.key_or_group} cannot be set: choose with {group}=NAME"
            )
        # `~method` leaves a choice out, and has no value either.
        chosen = override.key_or_group in groups and not override.is_delete()
        if chosen and override.value() is None:
            raise UserError(
                f"{group}=null chooses nothing: leave {group}= out, or name a choice"
            )


def _first_choice(override: Override) -> str:
    """Return an override with the first of the values it sweeps over.

    A sweep is checked by its first job: `compose` takes no sweeps.
    """
    line = override.input_line or ""
    if not override.is_sweep_override():
        return line
    key = override.get_key_element()
    value = override.value()
    if isinstance(value, IntervalSweep):
        return f"{key}={value.start}"
    for choice in override.sweep_string_iterator():
        return f"{key}={choice}"
    raise UserError(f"{line}: nothing to sweep over; {_LIST} {key}=1,2,3")


def _swept(overrides: list[Override]) -> dict[str, Override]:
    """Return what is swept over; the last word on each key is the one that counts."""
    last = {override.key_or_group: override for override in overrides}
    return {key: each for key, each in last.items() if each.is_sweep_override()}


def _check_choices(
    loaded: Registry, swept: dict[str, Override], given: list[Override]
) -> None:
    """Raise an error unless every choice of a swept config group exists.

    Hydra would tell only once the sweep is under way.
    """
    named = dict(swept)
    for override in given:
        if override.key_or_group == "control":
            named.setdefault("control", override)
    for group, override in named.items():
        options = GlobalHydra.instance().config_loader().get_group_options(group)
        if not options:
            continue
        known = set(options)
        if group == "method":
            known.update(OLD_METHODS)
        for choice in _choices(override):
            if choice is None:
                raise UserError(f"{group}=null chooses nothing: leave it out")
            if choice not in known:
                raise UserError(loaded.unknown(group, choice, options))


def _choices(override: Override) -> list[str | None]:
    """Return the choices of a config group that an override names."""
    if override.is_interval_sweep():
        return []
    values = [override.value()]
    if override.is_sweep_override():
        values = list(override.sweep_iterator())
    choices: list[str | None] = []
    for value in values:
        if value is None:
            choices.append(None)
        elif isinstance(value, QuotedString):
            choices.append(value.text)
        else:
            choices.append(str(value))
    return choices


def _check_sweep(swept: Collection[str], given: list[Override]) -> None:
    """Raise an error for settings that a sweep can do nothing sensible with."""
    last = {override.key_or_group: override for override in given}
    if "hydra.run.dir" in last:
        raise UserError(
            "hydra.run.dir is for a single run; this is a sweep: give hydra.sweep.dir"
        )
    if "experiment" in swept:
        raise UserError("a sweep is one experiment: run the command once for each")
    for key in swept:
        if key.partition(".")[0] == "tracking":
            raise UserError("a sweep is tracked in one place: tracking cannot be swept")
    # A method is little more than a learner and an aggregator.
    for kind in ("learner", "aggregator"):
        if kind in last and "method" in swept:
            value = last[kind].get_value_element_as_str()
            way = f"Choose one: method=NAME {kind}={value}"
            if kind == "learner":
                way = f"Name it as a method: method={value}"
            raise UserError(
                f"{kind}={value} beside a sweep over methods would give all the same "
                f"{kind}. {way}"
            )


def _check_sweeper(
    cfg: DictConfig, swept: dict[str, Override], given: list[Override]
) -> None:
    """Raise an error for intervals without a sweeper that chooses from them.

    And for such a sweeper on anything but validation classes: it would choose by the
    test set.
    """
    if not _plans_all(cfg):
        chosen = any(override.key_or_group == "learn_on" for override in given)
        if chosen and cfg.learn_on != "validation":
            sweeper = cfg.hydra.runtime.choices["hydra/sweeper"]
            raise UserError(
                f"hydra/sweeper={sweeper} tunes on validation classes: "
                "leave learn_on out"
            )
        return
    for key, override in swept.items():
        if override.is_interval_sweep():
            raise UserError(
                f"{override.input_line}: an interval is for hydra/sweeper=optuna; "
                f"{_LIST} {key}=1,2,3"
            )


def _plans_all(cfg: DictConfig) -> bool:
    """Tell whether the sweeper knows all jobs beforehand."""
    return cfg.hydra.runtime.choices["hydra/sweeper"] in _PLANNING_SWEEPERS


def _check_parts(loaded: Registry, cfg: DictConfig) -> None:
    """Raise an error unless everything a run needs is there and can be built."""
    for group in (*loaded.components, "tracking"):
        if cfg.get(group) is None:
            none = ""
            if group == "tracking":
                none = " (none)"
            raise UserError(f"{group} is missing: choose one, {group}=NAME{none}")
    settings(plain(cfg.tracking), Path.cwd())
    check_settings(cfg)
    config = {}
    for key in cfg:
        if key != "hydra":
            config[str(key)] = plain(cfg[key])
    # Built and dropped: their parameters are checked, and nothing is loaded yet.
    for group in ("dataset", "extractor"):
        loaded.build(group, config[group])
    check(build_setup(loaded, config))


def quote(value: Any) -> str:
    """Return a value in quotes, so that Hydra's override grammar takes it as it is."""
    escaped = re.sub(r"(['\\])", r"\\\1", str(value))
    return f"'{escaped}'"
