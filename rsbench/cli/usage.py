"""What `--help` shows, from what the registry knows: Hydra composes and lists for several times as long.

With anything beside `--help`, Hydra shows its own help, which is the same but for what was asked for.
"""

import string
from typing import Any

from omegaconf import OmegaConf

from rsbench.cli import configs
from rsbench.plugins import registry
from rsbench.plugins.registry import Registry


def show() -> int:
    """Print the help of a command without settings."""
    print(text(registry.load()))
    return 0


def text(loaded: Registry) -> str:
    """Choices and defaults, in the template of the primary config."""
    primary: Any = OmegaConf.load(configs.CONF / "config.yaml")
    chosen = [
        (group, name)
        for entry in primary.pop("defaults")
        if entry != "_self_"
        for group, name in entry.items()
    ]
    config = {
        group: _default(loaded, group, name)
        for group, name in chosen
        if name is not None
    }
    own = {key: primary[key] for key in primary if key != "hydra"}
    choices = sorted(configs.options(loaded).items())
    return string.Template(primary.hydra.help.template).substitute(
        APP_CONFIG_GROUPS="".join(
            f"{group}: {', '.join(sorted(names))}\n" for group, names in choices
        ),
        CONFIG=OmegaConf.to_yaml(OmegaConf.create({**config, **own})),
    )


def _default(loaded: Registry, group: str, name: str) -> Any:
    if group in loaded.components:
        return OmegaConf.structured(loaded.components[group][name].schema)
    return OmegaConf.load(configs.CONF / group / f"{name}.yaml")
