"""From a config to the objects that run: the last place that knows both."""

from collections.abc import Mapping
from typing import Any

from omegaconf import OmegaConf

from rsbench.core.experiment import KINDS, Setup
from rsbench.core.tuning import CHOSEN, OWN, with_own_grid
from rsbench.errors import UserError, is_number
from rsbench.plugins.registry import Registry
from rsbench.running import check_judgement, whole_number


def plain(part: Any) -> Any:
    """Return a part of a config as plain values, its references resolved."""
    if OmegaConf.is_config(part):
        return OmegaConf.to_container(part, resolve=True)
    return part


def build_setup(found: Registry, config: Mapping[str, Any]) -> Setup:
    """Return the components that a config names, with their parameters.

    Parameters
    ----------
    found : Registry
        All components.
    config : mapping
        The run's settings, as plain values.
    """
    made = {}
    for kind in KINDS:
        made[kind] = found.build(kind, config[kind])
    tune = with_own_grid(flat_grid(config["tune"]), made["learner"])
    names = tune.get(CHOSEN)
    if isinstance(names, list):
        tune[CHOSEN] = [found.build(CHOSEN, {"name": name}) for name in names]
    return Setup(
        **made,
        precision=config["precision"],
        tune=tune,
        judged_step=config["judged_step"],
        table_steps=config["table_steps"],
    )


def spelled_out(tune: Any, setup: Setup) -> Any:
    """Return a config's values to tune, with the learner's own in place of the word."""
    if not isinstance(tune, dict) or tune.get("learner") != OWN:
        return tune
    own = {}
    for key, values in setup.tune.items():
        kind, _, name = key.partition(".")
        if kind == "learner":
            own[name] = values
    return {**tune, "learner": own}


def flat_grid(grid: Any) -> dict[str, Any]:
    """Return the values to tune by dotted keys, from the nested ones of a config."""
    if not isinstance(grid or {}, dict):
        raise UserError(
            f"tune={grid!r}, expected parameters and values to try: "
            "+tune.learner.C=[0.1,1,10]"
        )
    flat = {}
    for kind, parameters in (grid or {}).items():
        # Among components, by their names; or the learner's own values.
        if kind == CHOSEN or parameters == OWN:
            flat[kind] = parameters
            continue
        # `tune.learner=3` names no parameter. The check of grids says so by its key.
        if not isinstance(parameters, dict):
            parameters = {"": parameters}
        for name, tried in parameters.items():
            flat[f"{kind}.{name}"] = tried
    return flat


def check_settings(config: Mapping[Any, Any]) -> None:
    """Raise an error unless the settings of the run itself make sense."""
    choices = {
        "force": (True, False),
        "on_error": ("continue", "stop"),
        "learn_on": ("few_shot", "validation"),
    }
    for key, allowed in choices.items():
        if config.get(key) not in allowed:
            expected = " or ".join(map(str, allowed)).lower()
            raise UserError(f"{key}={config.get(key)!r}, expected {expected}")
    whole_number("seed", config.get("seed"), least=0)
    whole_number("seeds", config.get("seeds"), least=1)
    whole_number("draws", config.get("draws"), least=1)
    check_judgement(
        config.get("judged_step"),
        config.get("table_steps"),
        config.get("margin"),
        config.get("counterparts"),
    )
    check_prices(config.get("prices"))


def check_prices(prices: Any) -> None:
    """Raise an error unless prices are numbers by what they are paid for."""
    if prices is None:
        return
    right = isinstance(prices, Mapping) and "label" in prices
    if right:
        for name, price in prices.items():
            is_known = name in ("label", "annotation", "mark")
            right = right and is_known and is_number(price) and price >= 0
        right = right and prices["label"] > 0
    if not right:
        raise UserError(
            f"prices={prices}, expected numbers from 0 on, that of a label above it: "
            "{label: 1, annotation: 0.5, mark: 0}"
        )
