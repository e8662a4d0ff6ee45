"""Hydra's view of the components: configs made of their constructors, with no YAML.

Hydra asks a config source for the configs of a group, and for one of them by name.
This one answers from the registry, and makes a config only when it is asked for: a
hundred of them in Hydra's own store would be copied whenever a job is composed.
"""

import copy
import functools
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from rsbench.cli.controls import OLD_METHODS
from rsbench.cli.presets import preset_folders
from rsbench.files.places import CONF
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry

#: `CONF` is for those who hand Hydra its folder, together with `offer`.
__all__ = ["CONF", "ComponentConfigs", "offer"]


class ComponentConfigs(ConfigSource):
    """Give Hydra each component as a config, and each learner as a method.

    Its address is `rsbench://FOLDER`, with the folder that relative places of plugins
    start from; so other processes find the same plugins, wherever they run.
    """

    @staticmethod
    def scheme() -> str:
        """Return what the address begins with."""
        return "rsbench"

    @property
    def registry(self) -> Registry:
        """Return the components, loaded once for each process."""
        return registry.load(Path(self.path))

    def available(self) -> bool:
        """Tell that there is always something."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Tell whether a path is the root or a group of configs."""
        group = config_path.rstrip("/")
        return group in ("", "method") or group in self.registry.components

    def is_config(self, config_path: str) -> bool:
        """Tell whether there is such a config."""
        group, name = _split(config_path)
        if group == "method":
            return name in self.registry.components["learner"] or name in OLD_METHODS
        return name in self.registry.components.get(group, {})

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Return the groups, or the configs of one but for old names of methods."""
        group = config_path.rstrip("/")
        components = self.registry.components
        if group == "":
            if results_filter == ObjectType.CONFIG:
                return []
            return sorted({*components, "method"})
        if results_filter == ObjectType.GROUP:
            return []
        # Each learner is a method by its own name.
        if group == "method":
            group = "learner"
        return sorted(components[group])

    def load_config(self, config_path: str) -> ConfigResult:
        """Make the config."""
        if not self.is_config(config_path):
            raise ConfigLoadError(f"Config not found : {config_path}")
        group, name = _split(config_path)
        package = None  # Hydra's default, the group's name
        config: Any
        if group == "method":
            # A method sets learner and aggregator, which are beside it.
            package = "_global_"
            config = OmegaConf.create({"defaults": _defaults_of_method(name)})
        else:
            # A copy: what Hydra does to one job's config is not to show in another's.
            component = self.registry.components[group][name]
            config = copy.deepcopy(_structured(component.schema))
        return ConfigResult(
            provider=self.provider,
            path=self.full_path(),
            config=config,
            header={"package": package},
        )


@functools.cache
def _structured(schema: type) -> Any:
    """Make a config of a dataclass once: a copy takes a third of the time."""
    return OmegaConf.structured(schema)


def _split(config_path: str) -> tuple[str, str]:
    """Return group and name of a config; Hydra asks with its ending or without."""
    group, _, name = config_path.removesuffix(".yaml").rpartition("/")
    return group, name


def _defaults_of_method(name: str) -> list[Any]:
    """Return what a method without a file is made of."""
    if name in OLD_METHODS:
        old = OLD_METHODS[name]
        return [old.method, f"/control/{old.control}"]
    return [{"override /learner": name}, {"override /aggregator": "sample"}]


def offer(base: Path, config_dir: Path | None = None) -> None:
    """Let Hydra find configs of components, the presets of plugins and a user's own.

    Parameters
    ----------
    base : Path
        The folder that relative places of plugins start from.
    config_dir : Path or None
        A folder of the user's configs. They come before what is made of components, so
        that a method of one's own may have a learner's name.
    """

    class Places(SearchPathPlugin):
        """Add the places of configs, after rsbench's own."""

        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            # Hydra takes the first config of a name that it finds.
            if config_dir is not None:
                search_path.append("command line", f"file://{config_dir}")
            for folder in preset_folders(registry.load(base)):
                search_path.append("rsbench plugins", f"file://{folder}")
            search_path.append("rsbench", f"rsbench://{base}")

    plugins = Plugins.instance()
    plugins.register(ComponentConfigs)
    plugins.register(Places)
