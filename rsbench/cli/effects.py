"""Which control can change which method.

That is seen in what a control makes of the method's config, so that controls and
methods of one's own need no entry in any list.
"""

import json
from typing import Any

from omegaconf import DictConfig

from rsbench.cli.controls import annotation_of
from rsbench.cli.objects import plain
from rsbench.core.experiment import KINDS, Setup
from rsbench.core.told import Told
from rsbench.core.tuning import CHOSEN, OWN
from rsbench.errors import UserError
from rsbench.plugins.registry import Registry
from rsbench.store.settings import declared


def essence(registry: Registry, cfg: DictConfig) -> str:
    """Return what a run computes, as text that is the same for the same computation.

    Else shuffling the votes of a method that sees none would pass for a change.
    """
    parts: dict[str, Any] = {}
    for key in map(str, cfg):
        if key != "hydra" and declared(key).changes_results:
            parts[key] = plain(cfg[key])
    for kind in _setup(registry, cfg).idle():
        parts.pop(kind)
    return json.dumps(parts, sort_keys=True, default=str)


def _setup(registry: Registry, cfg: DictConfig) -> Setup:
    """Return the components of a run, without what its command says of itself."""
    made = {kind: registry.build(kind, plain(cfg[kind])) for kind in KINDS}
    return Setup(**made, tune=plain(cfg.tune) or {})


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
        # Every method has a preprocessor, and its own values are its own.
        if kind == CHOSEN or names == OWN:
            continue
        known = registry.get(kind, under[kind].name).parameters
        for name in names:
            if name not in known:
                return f"{kind}={under[kind].name} has no {name}"
    if essence(registry, without) != essence(registry, under):
        return None
    if _setup(registry, without).told() is Told.NOTHING:
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
    decided = annotation_of(control)
    if decided is None:
        return
    chosen = under.annotation.name
    if given or chosen != decided:
        raise UserError(
            f"control={control} decides the annotation, which is given as "
            f"annotation={chosen} too: leave one of them out"
        )
