"""From a composed config to everything that a run needs."""

import dataclasses
import functools
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from rsbench.cli.choices import Choices, read_choices
from rsbench.cli.objects import build_setup, check_settings
from rsbench.core.data import Data, identity
from rsbench.core.experiment import Setup, load
from rsbench.core.tuning import held_out
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry
from rsbench.running import (
    Identity,
    Outcome,
    Progress,
    check,
    compute,
    describe,
    describe_data,
    identify,
    one_thread,
)
from rsbench.store.fingerprint import code_identity
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
    setup : Setup
        The components.
    data : Data
        The samples, with features.
    data_info : DataInfo
        What the record says of them.
    identity : Identity
        What the run is known by.
    tracking : dict, optional
        Where it is tracked.
    plugins : tuple of PluginInfo
        Third-party plugins that were loaded.
    """

    config: dict[str, Any]
    overrides: tuple[str, ...]
    choices: Choices
    setup: Setup
    data: Data
    data_info: DataInfo
    identity: Identity
    tracking: dict[str, str] | None
    plugins: tuple[PluginInfo, ...]

    @property
    def seeds(self) -> range:
        """Numbers of the seeds."""
        first = self.config["seed"]
        return range(first, first + self.config["seeds"])

    @property
    def label(self) -> str:
        """How people call the run among others of its sweep.

        What all of them share goes without saying.
        """
        words = [self.choices.method]
        if self.choices.control is not None:
            words.append(f"({self.choices.control})")
        preprocessor = self.config["preprocessor"]["name"]
        if preprocessor != "none":
            words.append(preprocessor)
        if self.setup.fitted_on_stream():
            words.append("(seen)")
        # Two jobs that differ in these alone would else have one name.
        for key, value in self.choices.swept.items():
            words.append(f"{key}={value}")
        return " ".join(words)

    def compute(self, force: bool = False, progress: Progress = float) -> Outcome:
        """Compute the run's seeds."""
        return compute(
            self.setup,
            self.data,
            self.seeds,
            self.identity,
            force=force,
            progress=progress,
        )

    def describe(self, outcome: Outcome) -> RunInfo:
        """Return what the record says of the run."""
        control = self.choices.control
        control_of = None
        if control is not None:
            control_of = self.choices.method
        return describe(
            outcome,
            self.identity,
            method=self.choices.method,
            control=control,
            control_of=control_of,
            told=self.setup.told(),
            preprocessor=self.config["preprocessor"]["name"],
            fitted_on_stream=self.setup.fitted_on_stream(),
            label=self.label,
            changed=self.choices.changed,
            swept=self.choices.swept,
            experiment=self.choices.experiment,
            config=self.config,
            overrides=self.overrides,
            tracking=self.tracking,
            plugins=self.plugins,
            data=self.data_info,
            unit=self.setup.new("protocol").unit,
        )


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
    data, data_info = _load(here, _data_settings(config))
    return Prepared(
        config=config,
        overrides=tuple(hydra_cfg.overrides.task),
        choices=read_choices(cfg, hydra_cfg, swept),
        setup=setup,
        data=data,
        data_info=data_info,
        identity=identify(setup, data),
        tracking=settings(config["tracking"], here),
        plugins=_plugins(found, config),
    )


def _data_settings(config: Mapping[str, Any]) -> str:
    """Return what decides the data, as text that a cache can be asked with."""
    kept = {}
    for key in ("dataset", "extractor", "learn_on"):
        kept[key] = config[key]
    return json.dumps(kept, sort_keys=True)


# The last one alone: data sets are large.
@functools.lru_cache(maxsize=1)
def _load(here: Path, parts: str) -> tuple[Data, DataInfo]:
    """Return the data; jobs of a sweep that share a process mostly share them too."""
    config = json.loads(parts)
    found = registry.load(here)
    dataset = found.build("dataset", config["dataset"])
    extractor = found.build("extractor", config["extractor"])
    name = config["dataset"]["name"]
    where = config["dataset"].get("path") or f"dataset={name}"
    with one_thread():
        data = load(dataset, extractor, where)
    if config["learn_on"] == "validation":
        held = held_out(data)
        # They are data of their own, of the same origin.
        data = dataclasses.replace(
            held,
            identity=identity(held),
            simulated=data.simulated,
            how_to_get_real=data.how_to_get_real,
            details=data.details,
        )
    return data, describe_data(data, name, config["learn_on"])


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
