"""Controls: variations of a method that answer a sceptic, by name.

A control is a config of the group `control`; `rsbench.cli.effects` sees which method
each of them can change.
"""

from typing import NamedTuple

#: What leaves a method as it is.
NONE = "none"

#: Controls that decide what happens to annotations, and the annotation they choose.
ANNOTATIONS = {"shuffled": "shuffled", "random": "random"}


class Controlled(NamedTuple):
    """A method under a control."""

    method: str
    control: str


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
