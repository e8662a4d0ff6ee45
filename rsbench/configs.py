"""Hydra's view of the components: one typed schema per constructor, with no YAML to write."""

import dataclasses
import functools
import typing
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from rsbench.registry import Component, Registry, is_union, literal_choices

_PACKAGE = Path(__file__).resolve().parent

#: The config folder: inside an installed package, beside it in a checkout.
CONF = _PACKAGE / "conf" if (_PACKAGE / "conf").is_dir() else _PACKAGE.parent / "conf"

_PRIMITIVE = (bool, int, float, str)


def store(registry: Registry) -> None:
    """Offer every component as a config, and every learner without a method as one."""
    configs = ConfigStore.instance()
    for kind, components in registry.components.items():
        for name, component in components.items():
            configs.store(group=kind, name=name, node=schema(component))
    for learner in registry.components["learner"]:
        if not (CONF / "method" / f"{learner}.yaml").exists():
            defaults = [{"override /learner": learner}, {"override /aggregator": "sample"}]
            configs.store(group="method", name=learner, package="_global_", node={"defaults": defaults})


def schema(component: Component) -> type:
    """A dataclass with the component's name and its parameters, typed and defaulted."""
    fields: list[Any] = [("name", str, dataclasses.field(default=component.name))]
    for name, parameter in component.parameters.items():
        default = parameter.default
        spec: Any = dataclasses.field(default=default)
        if isinstance(default, (list, tuple, dict)):
            copy = dict if isinstance(default, dict) else list
            spec = dataclasses.field(default_factory=functools.partial(copy, default))
        fields.append((name, _omegaconf_type(component.types.get(name, Any)), spec))
    return dataclasses.make_dataclass(f"{component.kind}_{component.name}", fields)


def _omegaconf_type(hint: Any) -> Any:
    """The nearest type that OmegaConf can check; `Literal`s are left to the registry."""
    if hint in _PRIMITIVE:
        return hint
    parts = typing.get_args(hint)
    if literal_choices(hint):
        return Any
    if is_union(hint) and all(part in (*_PRIMITIVE, type(None)) for part in parts):
        return hint if len(parts) > 2 or type(None) not in parts else typing.Optional[parts[0]]  # noqa: UP045
    if typing.get_origin(hint) in (list, tuple) and parts and parts[0] in _PRIMITIVE:
        return list[parts[0]]  # type: ignore[valid-type]
    return Any
