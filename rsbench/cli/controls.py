"""Controls: variations of a method that answer a sceptic, by name.

A control is a config of the group `control`; `rsbench.cli.effects` sees which method
each of them can change.
"""

import functools
from typing import Any, NamedTuple

from rsbench.files.places import CONF

#: What leaves a method as it is.
NONE = "none"


class Controlled(NamedTuple):
    """A method under a control."""

    method: str
    control: str


@functools.cache
def annotation_of(control: str) -> str | None:
    """Return the annotation that a control decides, as its config says.

    None for one that decides something else, or is a config of the user's own.
    """
    from omegaconf import OmegaConf

    path = CONF / "control" / f"{control}.yaml"
    if not path.is_file():
        return None
    config: Any = OmegaConf.to_container(OmegaConf.load(path))
    for default in config.get("defaults", []):
        # Others are the name of a config alone, such as `_self_`.
        if isinstance(default, dict) and "override /annotation" in default:
            return default["override /annotation"]
    return None


def _old_methods() -> dict[str, Controlled]:
    """Name the methods that were configs of their own before controls were a group."""
    controls = {
        "lean": ("exact", "tuned"),
        "feature_scaling": ("tuned",),
        "ellipsotron": ("shuffled", "random", "ones", "soft", "exact", "tuned"),
        "class_threshold": ("seen", "tuned"),
        "class_soft": ("shuffled", "random", "seen", "exact", "tuned"),
        "cross_classes": ("tuned",),
        "svm_ff": ("tuned",),
    }
    found = {}
    for method, names in controls.items():
        for control in names:
            found[f"{method}_{control}"] = Controlled(method, control)
    return found


#: Methods by the names that they had before controls were a group; they keep working.
OLD_METHODS = _old_methods()
