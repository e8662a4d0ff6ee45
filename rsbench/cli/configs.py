"""Hydra's view of the components: their schemas in its ConfigStore, with no YAML to write; and plugins' presets."""

from pathlib import Path

from rsbench.files.atomic import CONF
from rsbench.plugins.registry import Registry

__all__ = ["CONF", "add_presets", "options", "preset_folders", "store"]


def store(registry: Registry) -> None:
    """Offer every component as a config, and every learner without a method as one."""
    from hydra.core.config_store import ConfigStore

    configs = ConfigStore.instance()
    # Hydra copies the whole store at each composition, although it copies every node it takes from it.
    vars(configs)["__deepcopy__"] = lambda memo: configs
    for kind, components in registry.components.items():
        for name, component in components.items():
            configs.store(group=kind, name=name, node=component.schema)
    for learner in _without_method(registry):
        defaults = [{"override /learner": learner}, {"override /aggregator": "sample"}]
        configs.store(
            group="method",
            name=learner,
            package="_global_",
            node={"defaults": defaults},
        )


def options(registry: Registry) -> dict[str, set[str]]:
    """The choices of each config group."""
    found = {kind: set(components) for kind, components in registry.components.items()}
    for preset in (
        path
        for folder in [CONF, *preset_folders(registry)]
        for path in folder.glob("*/*.yaml")
    ):
        found.setdefault(preset.parent.name, set()).add(preset.stem)
    found["method"].update(_without_method(registry))
    return found


def _without_method(registry: Registry) -> list[str]:
    """Learners that no preset makes a method of."""
    presets = [CONF, *preset_folders(registry)]
    learners = registry.components["learner"]
    return [
        name
        for name in learners
        if not any((folder / "method" / f"{name}.yaml").exists() for folder in presets)
    ]


def preset_folders(registry: Registry) -> list[Path]:
    """The `conf` folders that plugins ship with presets in YAML."""
    return list(
        dict.fromkeys(
            plugin.conf
            for each in registry.plugins.values()
            for plugin in each
            if plugin.conf
        )
    )


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
