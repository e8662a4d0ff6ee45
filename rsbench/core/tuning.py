"""Settings chosen on held-out classes: never on the classes of the test, nor on any sample of them."""

import copy
import dataclasses
import itertools
from typing import Any

import numpy as np

from rsbench.core.data import Data
from rsbench.core.experiment import Spec, run_seed
from rsbench.errors import UserError

#: Each candidate learns under so many seeds.
SEEDS = 3

_TUNABLE = ("learner", "aggregator")


def candidates(grid: dict[str, Any] | None) -> list[dict[str, Any]]:
    """All combinations of the values to try, by dotted keys; none if there is nothing to tune."""
    values: dict[str, list[Any]] = {}
    if not isinstance(grid or {}, dict):
        raise UserError(
            f"tune={grid!r}, expected parameters and values to try: +tune.learner.C=[0.1,1,10]"
        )
    for kind, parameters in (grid or {}).items():
        if kind not in _TUNABLE or not isinstance(parameters, dict):
            raise UserError(
                f"tune.{kind}: only parameters of {' and '.join(_TUNABLE)} can be tuned, tune.learner.C"
            )
        for name, tried in parameters.items():
            if name == "name" or not isinstance(tried, list) or not tried:
                raise UserError(
                    f"tune.{kind}.{name}={tried!r}, expected a list of values to try, [0.1,1,10]"
                )
            values[f"{kind}.{name}"] = tried
    values = dict(sorted(values.items()))  # their order decides between equals
    return (
        [
            dict(zip(values, chosen, strict=True))
            for chosen in itertools.product(*values.values())
        ]
        if values
        else []
    )


def tune(spec: Spec, data: Data) -> tuple[Spec, dict[str, Any]]:
    """The spec with the values of the lowest error on held-out classes (the first among equals), and these values."""
    found = candidates(spec.config.get("tune"))
    if not found:
        return spec, {}
    held = held_out(data)
    # As many samples of each class as in the run itself, if that leaves as many to test on.
    steps = min(
        spec.config["protocol"].get("samples_per_class", 10),
        int(np.bincount(held.y).min()) // 2,
    )
    if steps < 1:
        raise UserError(
            "tune: a held-out class has a single sample, to tune takes two or more of each"
        )
    protocol = {"name": "per_class", "samples_per_class": steps, "test": "rest"}
    trials = [_with(spec, candidate) for candidate in found]
    errors = [_error(_with(trial, {"protocol": protocol}), held) for trial in trials]
    best = int(np.argmin(errors))
    return trials[best], found[best]


def _error(spec: Spec, data: Data) -> float:
    return float(
        np.mean(
            [
                run_seed(spec, data, seed).rows[-1]["cumulative_error"]
                for seed in range(SEEDS)
            ]
        )
    )


def held_out(data: Data) -> Data:
    """Annotated samples of other classes, as data of their own."""
    if data.validation is None:
        raise UserError(
            "tuning needs annotated samples of other classes, and the data set has none"
        )
    return dataclasses.replace(data.validation, background=data.background)


def _with(spec: Spec, values: dict[str, Any]) -> Spec:
    """A spec with other values, by dotted keys."""
    config = copy.deepcopy(spec.config)
    for key, value in values.items():
        kind, _, name = key.partition(".")
        if name:
            config[kind][name] = value
        else:
            config[kind] = value
    return dataclasses.replace(spec, config=config)
