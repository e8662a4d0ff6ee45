"""From a composed config to everything that a run needs."""

import dataclasses
import functools
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from rsbench.cli.choices import Choices, read_choices
from rsbench.cli.objects import build_setup, check_settings, spelled_out
from rsbench.core.data import Data, identity
from rsbench.core.experiment import draw_of, load
from rsbench.core.tuning import CHOSEN, held_out
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry
from rsbench.running import (
    Outcome,
    Progress,
    Task,
    check,
    compute,
    describe,
    describe_data,
    finish,
    one_thread,
    plan_task,
)
from rsbench.store.fingerprint import code_identity
from rsbench.store.record import Run
from rsbench.store.run_info import DataInfo, PluginInfo, RunInfo
from rsbench.tracking.mirror import settings


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A run that is ready to be computed.

    Parameters
    ----------
    config : dict
        All settings, as plain values.
    overrides : tuple of str
        The words that made them.
    choices : Choices
        What was chosen and changed.
    task : Task
        What is to be computed.
    judged_by : dict of Task
        What is computed with it, as `Task.judged_by` has it.
    data_info : DataInfo
        What the record says of the data.
    tracking : dict, optional
        Where it is tracked.
    plugins : tuple of PluginInfo
        Third-party plugins that were loaded.
    registry : Registry
        All components.
    """

    config: dict[str, Any]
    overrides: tuple[str, ...]
    choices: Choices
    task: Task
    judged_by: dict[str, Task]
    data_info: DataInfo
    tracking: dict[str, str] | None
    plugins: tuple[PluginInfo, ...]
    registry: Registry

    @property
    def label(self) -> str:
        """How people call the run among others of its sweep.

        What all of them share goes without saying.
        """
        words = [self.choices.method]
        if self.choices.control is not None:
            words.append(f"({self.choices.control})")
        if self._preprocessor != "none":
            words.append(self._preprocessor)
        if self.task.setup.fitted_on_stream():
            words.append("(seen)")
        # Two jobs that differ in these alone would else have one name.
        for key, value in self.choices.swept.items():
            words.append(f"{key}={value}")
        return " ".join(words)

    @property
    def _preprocessor(self) -> str:
        """The preprocessor's name, or that it is tuned."""
        if CHOSEN in self.task.setup.tune:
            return "tuned"
        return self.config["preprocessor"]["name"]

    def run(self, progress: Progress = float) -> Run:
        """Compute the run, and its counterpart if wanted.

        `progress` is told the seeds that are done, of `total`.
        """
        force = self.config["force"]
        outcome = compute(self.task, force=force, progress=progress)
        info = self._describe(outcome)
        return finish(
            self.task,
            outcome,
            info,
            self.judged_by,
            self.registry,
            progress,
            force=force,
        )

    @property
    def total(self) -> int:
        """The seeds of all draws, with those of what the run is judged by."""
        others = sum(task.total for task in self.judged_by.values())
        return self.task.total + others

    def _describe(self, outcome: Outcome) -> RunInfo:
        """Return what the record says of the run."""
        control = self.choices.control
        control_of = None
        if control is not None:
            control_of = self.choices.method
        return describe(
            outcome,
            self.task,
            method=self.choices.method,
            control=control,
            control_of=control_of,
            preprocessor=self._preprocessor,
            label=self.label,
            changed=self.choices.changed,
            swept=self.choices.swept,
            experiment=self.choices.experiment,
            config=self.config,
            overrides=self.overrides,
            tracking=self.tracking,
            plugins=self.plugins,
            data=self.data_info,
            margin=self.config["margin"] / 100,
        )

    def is_answered_by(self, earlier: Run) -> bool:
        """Tell whether a finished run is what this one would come to."""
        if not earlier.answers(self.task.identity.fingerprint, self.task.seeds):
            return False
        # These change no number, but what the record has and is judged by.
        for key in ("judged_step", "table_steps", "margin", "counterparts"):
            if earlier.info.config.get(key) != self.config[key]:
                return False
        return True


def prepare(
    cfg: DictConfig, hydra_cfg: DictConfig, swept: Collection[str] = ()
) -> Prepared:
    """Check a config, build its components and load its data.

    Parameters
    ----------
    cfg : DictConfig
        The run's config.
    hydra_cfg : DictConfig
        Hydra's own part of it.
    swept : collection of str
        Keys of the settings that the run's sweep goes over.

    Raises
    ------
    UserError
        For what is wrong with the settings, the components or the data.
    """
    code_identity()  # of the sources as they are now, not after hours of reading data
    config: Any = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
    check_settings(config)
    here = Path(hydra_cfg.runtime.cwd)
    found = registry.load(here)
    setup = build_setup(found, config)
    check(setup)
    # A reader of the record is to see which values were tried.
    config["tune"] = spelled_out(config["tune"], setup)
    draws = range(config["draws"])
    # Before data are read: without more draws it is the last one that is missing.
    draw_of(found.build("dataset", config["dataset"]), draws[-1])
    loader = _loader(here, _data_settings(config))
    loaded = [loader(draw) for draw in draws]
    seeds = range(config["seed"], config["seed"] + config["seeds"])
    task = plan_task(setup, loader, draws, seeds)
    choices = read_choices(cfg, hydra_cfg, swept)
    judged_by: dict[str, Task] = {}
    # Trials of a sweeper that tunes are compared with each other alone.
    if config["counterparts"] and config["learn_on"] == "few_shot":
        judged_by = task.judged_by(is_control=choices.control is not None)
    return Prepared(
        config=config,
        overrides=tuple(hydra_cfg.overrides.task),
        choices=choices,
        task=task,
        judged_by=judged_by,
        data_info=describe_data(loaded, config["dataset"]["name"], config["learn_on"]),
        tracking=settings(config["tracking"], here),
        plugins=_plugins(found, config),
        registry=found,
    )


def _data_settings(config: Mapping[str, Any]) -> str:
    """Return what decides the data, as text that a cache can be asked with."""
    kept = {}
    for key in ("dataset", "extractor", "learn_on"):
        kept[key] = config[key]
    return json.dumps(kept, sort_keys=True)


#: Draws of a data set that are kept in memory.
_KEPT_DRAWS = 20


# Of the last one alone: data sets are large.
@functools.lru_cache(maxsize=1)
def _loader(here: Path, parts: str) -> Callable[[int], Data]:
    """Return what loads the draws of a data set, each once.

    Jobs of a sweep that share a process mostly share their data too.
    """
    return functools.lru_cache(_KEPT_DRAWS)(functools.partial(_load, here, parts))


def _load(here: Path, parts: str, draw: int) -> Data:
    """Return the data of a draw."""
    config = json.loads(parts)
    found = registry.load(here)
    dataset = draw_of(found.build("dataset", config["dataset"]), draw)
    extractor = found.build("extractor", config["extractor"])
    name = config["dataset"]["name"]
    where = config["dataset"].get("path") or f"dataset={name}"
    with one_thread():
        data = load(dataset, extractor, where)
    if config["learn_on"] == "few_shot":
        return data
    held = held_out(data)
    # They are data of their own, of the same origin.
    return dataclasses.replace(
        held,
        identity=identity(held),
        simulated=data.simulated,
        how_to_get_real=data.how_to_get_real,
        details=data.details,
    )


def _plugins(found: Registry, config: Mapping[str, Any]) -> tuple[PluginInfo, ...]:
    """Return all third-party plugins that were loaded, and what the run uses of each.

    All of them, since any can change what is computed by being imported.
    """
    used = [found.get(group, config[group]["name"]) for group in found.components]
    # Built-in ones are known by rsbench's version.
    told = []
    for plugin in found.plugins:
        if plugin.is_built_in:
            continue
        name = plugin.name
        # A file's folder says nothing to those who read the record elsewhere.
        if Path(name).suffix == ".py":
            name = Path(name).name
        mine = []
        for component in used:
            if component.plugin == plugin:
                mine.append(f"{component.kind}={component.name}")
        told.append(PluginInfo(name, plugin.version, plugin.sha256, tuple(mine)))
    return tuple(told)
