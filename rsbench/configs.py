"""Hydra's view of the components: their schemas in its ConfigStore, with no YAML to write; and plugins' presets."""

from pathlib import Path

from hydra.core.config_store import ConfigStore

from rsbench.files import CONF
from rsbench.registry import Registry

__all__ = ["CONF", "add_presets", "preset_folders", "store"]


def store(registry: Registry) -> None:
    """Offer every component as a config, and every learner without a method as one."""
    configs = ConfigStore.instance()
    for kind, components in registry.components.items():
        for name, component in components.items():
            configs.store(group=kind, name=name, node=component.schema)
    presets = [CONF, *preset_folders(registry)]
    for learner in registry.components["learner"]:
        if not any((folder / "method" / f"{learner}.yaml").exists() for folder in presets):
            defaults = [{"override /learner": learner}, {"override /aggregator": "sample"}]
            configs.store(group="method", name=learner, package="_global_", node={"defaults": defaults})


def preset_folders(registry: Registry) -> list[Path]:
    """The `conf` folders that plugins ship with presets in YAML."""
    return list(dict.fromkeys(plugin.conf for each in registry.plugins.values() for plugin in each if plugin.conf))


def add_presets(registry: Registry) -> None:
    """Let Hydra find the presets of plugins, after rsbench's own."""
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.core.plugins import Plugins
    from hydra.plugins.search_path_plugin import SearchPathPlugin

    folders = preset_folders(registry)

    class Presets(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            for folder in folders:
                search_path.append("rsbench plugins", f"file://{folder}")

    if folders:
        Plugins.instance().register(Presets)
