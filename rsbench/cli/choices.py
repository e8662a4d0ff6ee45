"""What a run was asked for: the method and control, and what was changed besides."""

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from rsbench.cli.controls import NONE, OLD_METHODS
from rsbench.cli.objects import plain
from rsbench.store.settings import declared

#: Groups whose choice is a run's name, not a change of it.
_NAMED = ("experiment", "method", "control", "preprocessor", "learner", "aggregator")
#: Groups whose choice changes a run.
_OTHERS = ("dataset", "extractor", "protocol", "annotation")


@dataclass(frozen=True)
class Choices:
    """What a command chose for a run.

    Parameters
    ----------
    experiment : str or None
        The chosen experiment.
    method : str
        The chosen method; the names of learner and aggregator with + between them if
        none was chosen, or if the command changed either.
    control : str or None
        The control it is under.
    changed : dict
        Dotted settings whose value is another than the choices above, and that of the
        preprocessor, would give; and other groups by the name that was chosen.
    swept : dict
        The run's values of what its sweep goes over, beside method, control and
        preprocessor.
    """

    experiment: str | None
    method: str
    control: str | None
    changed: dict[str, Any]
    swept: dict[str, Any]


def read_choices(
    cfg: DictConfig, hydra_cfg: Any, swept_keys: Collection[str]
) -> Choices:
    """Read what was chosen from a job's config.

    Parameters
    ----------
    cfg : DictConfig
        The job's config.
    hydra_cfg : DictConfig
        Hydra's config of the job, `HydraConfig.get()`.
    swept_keys : collection of str
        What its sweep goes over.
    """
    parser = OverridesParser.create()
    # Of the same key, the last one counts.
    given: dict[str, Override] = {}
    for override in parser.parse_overrides(list(hydra_cfg.overrides.task)):
        given[override.key_or_group] = override
    groups = hydra_cfg.runtime.choices
    method, control = _method(cfg, groups, given)
    swept = {}
    for key in swept_keys:
        if key in given and key not in ("method", "control", "preprocessor"):
            swept[key] = given[key].value()
    return Choices(
        experiment=groups.get("experiment"),
        method=method,
        control=control,
        changed=_changed(cfg, hydra_cfg, given),
        swept=swept,
    )


def _method(
    cfg: DictConfig, groups: DictConfig, given: Collection[str]
) -> tuple[str, str | None]:
    """Return the method by its name, and the control it is under."""
    method = groups.get("method")
    control = groups.get("control")
    if method in OLD_METHODS:
        method, control = OLD_METHODS[method]
    # With another learner it is no longer the method of that name.
    if method is None or "learner" in given or "aggregator" in given:
        method = f"{cfg.learner.name}+{cfg.aggregator.name}"
    if control == NONE:
        control = None
    return method, control


def _changed(
    cfg: DictConfig, hydra_cfg: Any, given: dict[str, Override]
) -> dict[str, Any]:
    """Return what the command changed beside its choices, by value."""
    names: list[Override] = []
    groups: list[Override] = []
    settings: list[str] = []
    for key, override in given.items():
        if key in _NAMED:
            names.append(override)
        elif key in _OTHERS:
            groups.append(override)
        elif declared(key).changes_results:
            settings.append(key)
    changed: dict[str, Any] = {}
    if groups:
        # The experiment may choose the same data set that the command names.
        base = _compose(names, hydra_cfg)
        for override in groups:
            group = override.key_or_group
            if cfg[group].name != base[group].name:
                changed[group] = cfg[group].name
    if settings:
        # A preprocessor's choice decides its own settings alone: without it, jobs that
        # differ in nothing else share the base, which takes as long as a small run.
        changes_preprocessor = any(key.startswith("preprocessor.") for key in settings)
        if not changes_preprocessor:
            names = [each for each in names if each.key_or_group != "preprocessor"]
        # With the other groups, since a setting's own value depends on them.
        base = _compose([*names, *groups], hydra_cfg)
        for key in settings:
            value = _setting(cfg, key)
            # What was typed may be the method's own value, and change nothing.
            if value != _setting(base, key):
                changed[key] = value
    return changed


def _compose(overrides: list[Override], hydra_cfg: Any) -> DictConfig:
    """Compose what some of a job's overrides give, in the same places as the job's."""
    words = [override.input_line or "" for override in overrides]
    # A job's config is composed of the user's own folders too, where there are any.
    if "searchpath" in hydra_cfg and hydra_cfg.searchpath:
        places = ",".join(f"'{place}'" for place in hydra_cfg.searchpath)
        words.append(f"hydra.searchpath=[{places}]")
    return _composed(tuple(words))


@functools.lru_cache(maxsize=64)
def _composed(words: tuple[str, ...]) -> DictConfig:
    """Compose each base once for the jobs that share it.

    Hydra is initialized wherever it runs a job: launchers carry its state to theirs.
    """
    return hydra.compose("config", overrides=list(words))


def _setting(cfg: DictConfig, key: str) -> Any:
    """Return the value of a dotted key; None if it is not there."""
    return plain(OmegaConf.select(cfg, key))
