"""Which control can change which method.

That is seen in what a control makes of the method's config, so that controls and
methods of one's own need no entry in any list.
"""

import json
from typing import Any

from omegaconf import DictConfig

from rsbench.cli.controls import ANNOTATIONS
from rsbench.cli.objects import plain
from rsbench.core.components import Aggregator, Told, adopt
from rsbench.core.supervision import rich_supervision, what_is_told
from rsbench.errors import UserError
from rsbench.plugins.registry import Registry
from rsbench.store.settings import declared


def told(registry: Registry, config: dict[str, Any]) -> Told:
    """Return what a method is told beyond labels, by its learner and aggregator."""
    learner = registry.build("learner", config["learner"])
    aggregator = registry.build("aggregator", config["aggregator"])
    return what_is_told(learner, adopt(aggregator, Aggregator))


def essence(registry: Registry, cfg: DictConfig) -> str:
    """Return what a run computes, as text that is the same for the same computation.

    Annotations play no part in a method that is told nothing, nor does an aggregator in
    one whose learner takes no relevance.
    """
    parts: dict[str, Any] = {}
    for key in map(str, cfg):
        if key != "hydra" and declared(key).changes_results:
            parts[key] = plain(cfg[key])
    # Else shuffling the votes of a method that sees none would pass for a change.
    if told(registry, parts) == Told.NOTHING:
        parts.pop("annotation")
    learner = registry.build("learner", parts["learner"])
    if "relevance" not in rich_supervision(learner):
        parts.pop("aggregator")
    return json.dumps(parts, sort_keys=True, default=str)


def why_it_changes_nothing(
    registry: Registry, without: DictConfig, under: DictConfig
) -> str | None:
    """Say why a control cannot change a method; None if it can.

    Parameters
    ----------
    registry : Registry
        All components.
    without, under : DictConfig
        The run's config without the control, and under it.
    """
    # First, since a grid for a parameter that is not there would pass for a change.
    for kind, names in (under.get("tune") or {}).items():
        known = registry.get(kind, under[kind].name).parameters
        for name in names:
            if name not in known:
                return f"{kind}={under[kind].name} has no {name}"
    if essence(registry, without) != essence(registry, under):
        return None
    parts = {
        "learner": plain(without.learner),
        "aggregator": plain(without.aggregator),
    }
    if told(registry, parts) == Told.NOTHING:
        return "it is told nothing"
    return "it is so already"


def check_annotation(control: str, under: DictConfig, given: bool) -> None:
    """Raise an error if somebody else decides the annotation that a control decides.

    Of `annotation=noisy control=shuffled` one would win, and nobody would notice.

    Parameters
    ----------
    control : str
        The control's name.
    under : DictConfig
        The run's config under the control.
    given : bool
        Whether the command chooses an annotation.
    """
    decided = ANNOTATIONS.get(control)
    if decided is None:
        return
    chosen = under.annotation.name
    if given or chosen != decided:
        raise UserError(
            f"control={control} decides the annotation, which is given as "
            f"annotation={chosen} too: leave one of them out"
        )
