"""Hydra's view of the components: their schemas in its ConfigStore, with no YAML to write."""

from pathlib import Path

from hydra.core.config_store import ConfigStore

from rsbench.registry import Registry

_PACKAGE = Path(__file__).resolve().parent

#: The config folder: inside an installed package, beside it in a checkout.
CONF = _PACKAGE / "conf" if (_PACKAGE / "conf").is_dir() else _PACKAGE.parent / "conf"


def store(registry: Registry) -> None:
    """Offer every component as a config, and every learner without a method as one."""
    configs = ConfigStore.instance()
    for kind, components in registry.components.items():
        for name, component in components.items():
            configs.store(group=kind, name=name, node=component.schema)
    for learner in registry.components["learner"]:
        if not (CONF / "method" / f"{learner}.yaml").exists():
            defaults = [{"override /learner": learner}, {"override /aggregator": "sample"}]
            configs.store(group="method", name=learner, package="_global_", node={"defaults": defaults})
